import { isUtf8 } from 'node:buffer'
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { maxPartBytes, partBytes } from '../../domain/attachment.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Part } from '../../domain/message.ts'
import { nearest } from '../../domain/text/nearest.ts'

/** Max total size of the files of one message, which daemons and most providers accept. */
const maxTotalBytes = 20 * 1024 * 1024
const megabyte = 1024 * 1024

/** Folders for attachments: the base of relative paths, and the secrets folder, which never goes to a model. */
export interface FileRoots {
  from: string
  secrets: string
}

/** Reads a file as a part of a message. */
export async function fileFrom(path: string, { from, secrets }: FileRoots): Promise<Part> {
  const whole = resolve(from, path)
  const found = await stat(whole).catch((error) => unreadable(path, from, error))
  if (dirname(await realpath(whole)) === (await realpath(secrets).catch(() => secrets))) throw aSecret(path)
  if (found.isDirectory()) throw aDirectory(path)
  if (found.size > maxPartBytes) throw tooLarge(path)
  const file = await open(whole).catch((error) => unreadable(path, from, error))
  try {
    return partOf(path, await readAll(file, path))
  } finally {
    await file.close()
  }
}

/** Bytes as a part of a message. The type is detected from the content, never from the name. */
export function partOf(path: string, bytes: Buffer): Part {
  const data = bytes.toString('base64')
  const picture = pictureType(bytes)
  if (picture) return { type: 'image', path, mediaType: picture, data }
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-')
    return { type: 'file', path, mediaType: 'application/pdf', data }
  if (!isUtf8(bytes) || bytes.includes(0)) throw notText(path)
  return { type: 'file', path, mediaType: 'text/plain', data }
}

/** Throws if the parts are too large for one message. */
export function assertTotalSize(parts: Part[]): void {
  const bytes = parts.reduce((sum, part) => sum + partBytes(part), 0)
  if (bytes <= maxTotalBytes) return
  throw new HeddleError(
    'too_large',
    `the files add up to ${(bytes / megabyte).toFixed(1)} MB, and a message can have ${maxTotalBytes / megabyte} MB`,
    'send them in several messages, or name their paths: agents read files of the folder themselves',
  )
}

export function tooLarge(path: string): HeddleError {
  return new HeddleError(
    'too_large',
    `${path} is larger than ${maxPartBytes / megabyte} MB`,
    'send the part that matters (head, grep), or name its path: agents read files of the folder piece by piece',
  )
}

/** Reads up to the size limit: the file size may be wrong, and devices have none. */
async function readAll(file: FileHandle, path: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of file.createReadStream({ autoClose: false })) {
    bytes += piece.length
    if (bytes > maxPartBytes) throw tooLarge(path)
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
    const closest = await nearestPath(path, from)
    throw new HeddleError(
      'no_file',
      `there is no file ${path}`,
      closest ? `did you mean ${closest}?` : 'check the path',
    )
  }
  const why =
    error.code === 'EACCES' || error.code === 'EPERM'
      ? 'you have no permission to read it'
      : (error.code ?? error.message)
  throw new HeddleError('file_unreadable', `${path} cannot be read: ${why}`, 'check its permissions: ls -l')
}

/** The existing path closest to a misspelled one, part by part. */
async function nearestPath(path: string, from: string): Promise<string | undefined> {
  let place = isAbsolute(path) ? '/' : from
  const closest: string[] = []
  for (const part of path.split('/')) {
    const others: string[] = await readdir(place).catch(() => [])
    const found = part === '' || part === '.' || part === '..' || others.includes(part) ? part : nearest(part, others)
    if (found === undefined) return undefined
    closest.push(found)
    place = resolve(place, found)
  }
  return closest.join('/')
}

function aDirectory(path: string): HeddleError {
  return new HeddleError(
    'is_directory',
    `${path} is a directory`,
    `name a file in it; or just mention it: agents search the folder themselves`,
  )
}

function aSecret(path: string): HeddleError {
  return new HeddleError(
    'secret_file',
    `${path} is a Heddle secret, and secrets are never sent to a model`,
    'leave it out',
  )
}

function notText(path: string): HeddleError {
  return new HeddleError(
    'binary_file',
    `${path} is neither text nor PDF nor an image (PNG, JPEG, GIF, WebP), which is all that models read`,
    'convert it first; for text in another encoding: iconv -t UTF-8',
  )
}
