import { TextDecoder } from 'node:util'
import { HeddleError } from '../../domain/errors.ts'
import { headBytes, kindOfText, type TextKind } from './text-kind.ts'

/** A file's text, and the function that encodes another text the same way. */
interface EncodedText {
  text: string
  encode(text: string): Buffer
}

/** Decodes a text such that encoding it gives the same bytes; refuses a file for which that is impossible. */
export function readEncoded(bytes: Buffer, shown: string): EncodedText {
  const kind = kindOfText(bytes.subarray(0, headBytes))
  if ('binary' in kind) {
    const looks = kind.binary === '' ? '' : ` (${kind.binary})`
    throw new HeddleError('binary', `${shown} is binary${looks}, not text`, 'only text files are edited')
  }
  const mark = bytes.subarray(0, kind.mark)
  const text = new TextDecoder(kind.encoding, { ignoreBOM: true }).decode(bytes.subarray(kind.mark))
  const encode = (changed: string) => Buffer.concat([mark, encodeText(changed, kind, shown)])
  if (!text.isWellFormed() || !encode(text).equals(bytes))
    throw new HeddleError(
      'binary',
      `${shown} holds bytes that are not text, and an edit would change them`,
      'write the whole file with write_file if they do not matter',
    )
  return { text, encode }
}

function encodeText(text: string, { encoding }: TextKind, shown: string): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text)
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le')
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16()
  return Buffer.from(
    Array.from(text, (letter) => {
      const byte = windows1252.indexOf(letter)
      if (byte >= 0) return byte
      const why = `${shown} is kept as Windows-1252, which has no "${letter}"`
      throw new HeddleError('encoding', why, 'use other letters, or write the whole file as UTF-8 with write_file')
    }),
  )
}

/** The character of each byte value. */
const windows1252 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))
