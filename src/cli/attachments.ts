import { isUtf8 } from 'node:buffer'
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { bytesOf, mostPartBytes } from '../domain/attachment.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import { nearest } from '../domain/nearest.ts'

/** All files of one message together: what a daemon and most providers take at once. */
const mostTogether = 20 * 1024 * 1024
const megabyte = 1024 * 1024

/** Where files are looked for: where a relative path begins, and what never goes to a model, whoever names it. */
export interface Ground {
  from: string
  secrets: string
}

/** A file as a part of a message. */
export async function fileFrom(path: string, { from, secrets }: Ground): Promise<Part> {
  const whole = resolve(from, path)
  const found = await stat(whole).catch((error) => unreadable(path, from, error))
  if (dirname(await realpath(whole)) === (await realpath(secrets).catch(() => secrets))) throw aSecret(path)
  if (found.isDirectory()) throw aDirectory(path)
  if (found.size > mostPartBytes) throw tooLarge(path)
  const file = await open(whole).catch((error) => unreadable(path, from, error))
  try {
    return partOf(path, await readAll(file, path))
  } finally {
    await file.close()
  }
}

/** Bytes as a part of a message: what they are is told by themselves, never by a name. */
export function partOf(path: string, bytes: Buffer): Part {
  const data = bytes.toString('base64')
  const picture = pictureType(bytes)
  if (picture) return { type: 'image', path, mediaType: picture, data }
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-')
    return { type: 'file', path, mediaType: 'application/pdf', data }
  if (!isUtf8(bytes) || bytes.includes(0)) throw notText(path)
  return { type: 'file', path, mediaType: 'text/plain', data }
}

/** Refuses what is too much for one message. */
export function checkTogether(parts: Part[]): void {
  const bytes = parts.reduce((sum, part) => sum + bytesOf(part), 0)
  if (bytes <= mostTogether) return
  throw new HeddleError(
    'too_large',
    `the files have ${(bytes / megabyte).toFixed(1)} MB together, and a message takes ${mostTogether / megabyte} MB`,
    'send them in several messages, or name their paths: agents read files of the folder themselves',
  )
}

export function tooLarge(path: string): HeddleError {
  return new HeddleError(
    'too_large',
    `${path} has more than ${mostPartBytes / megabyte} MB`,
    'send the part that matters (head, grep), or name its path: agents read files of the folder piece by piece',
  )
}

/** No more than a part may have: a size that was told before may be wrong, and a device has none. */
async function readAll(file: FileHandle, path: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of file.createReadStream({ autoClose: false })) {
    bytes += piece.length
    if (bytes > mostPartBytes) throw tooLarge(path)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function pictureType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString('latin1')
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return 'image/png'
  if (head.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined
}

async function unreadable(path: string, from: string, error: NodeJS.ErrnoException): Promise<never> {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
    const meant = await nearestPath(path, from)
    throw new HeddleError('no_file', `there is no file ${path}`, meant ? `did you mean ${meant}?` : 'check the path')
  }
  const why = error.code === 'EACCES' || error.code === 'EPERM' ? 'you may not read it' : (error.code ?? error.message)
  throw new HeddleError('file_unreadable', `${path} cannot be read: ${why}`, 'check who may read it: ls -l')
}

/** The path that was most likely meant, each part of it being near to what was written. */
async function nearestPath(path: string, from: string): Promise<string | undefined> {
  let place = isAbsolute(path) ? '/' : from
  const meant: string[] = []
  for (const part of path.split('/')) {
    const others: string[] = await readdir(place).catch(() => [])
    const found = part === '' || part === '.' || part === '..' || others.includes(part) ? part : nearest(part, others)
    if (found === undefined) return undefined
    meant.push(found)
    place = resolve(place, found)
  }
  return meant.join('/')
}

function aDirectory(path: string): HeddleError {
  return new HeddleError(
    'is_directory',
    `${path} is a directory`,
    `name a file in it; or name it in your words alone: agents look through the folder themselves`,
  )
}

function aSecret(path: string): HeddleError {
  return new HeddleError('secret_file', `${path} is a secret of heddle, and no model is told those`, 'leave it out')
}

function notText(path: string): HeddleError {
  return new HeddleError(
    'binary_file',
    `${path} is neither text nor PDF nor a picture (PNG, JPEG, GIF, WebP), and models read nothing else`,
    'turn it into one of these first; text of another encoding with: iconv -t UTF-8',
  )
}
