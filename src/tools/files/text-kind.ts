import { isUtf8 } from 'node:buffer'

/** Encoding of a text, and the length of its byte order mark. */
export interface TextKind {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'
  mark: number
}

/** Bytes needed to detect the kind of a file. */
export const headBytes = 8192

// Max share of control characters in text.
const maxControls = 0.02

/** Detects a file's kind from its first bytes; `binary` names the format if known. */
export function kindOfText(head: Buffer): TextKind | { binary: string } {
  const looks = signatures.find(({ at = 0, bytes }) => head.subarray(at, at + bytes.length).equals(bytes))
  if (looks) return { binary: looks.name }
  const mark = marks.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes))
  if (mark) return { encoding: mark.encoding, mark: mark.bytes.length }
  if (head.includes(0)) return { binary: '' }
  if (isUtf8(withoutSplitEnd(head))) return { encoding: 'utf-8', mark: 0 }
  return shareOfControls(head) > maxControls ? { binary: '' } : { encoding: 'windows-1252', mark: 0 }
}

/** Decodes a whole file; undefined if it is binary. */
export function decodeText(bytes: Buffer): string | undefined {
  const kind = kindOfText(bytes.subarray(0, headBytes))
  return 'binary' in kind ? undefined : new TextDecoder(kind.encoding).decode(bytes)
}

/** Note about an unusual encoding; undefined for plain UTF-8. */
export function noteOn({ encoding, mark }: TextKind): string | undefined {
  if (encoding === 'utf-16le') return 'UTF-16 (little-endian), shown decoded'
  if (encoding === 'utf-16be') return 'UTF-16 (big-endian), shown decoded'
  if (encoding === 'windows-1252') return 'not UTF-8: shown as if it were Latin-1 (Windows-1252)'
  return mark > 0 ? 'UTF-8 that begins with a byte order mark, which is left out here' : undefined
}

const marks = [
  { encoding: 'utf-8', bytes: Buffer.from([0xef, 0xbb, 0xbf]) },
  { encoding: 'utf-16le', bytes: Buffer.from([0xff, 0xfe]) },
  { encoding: 'utf-16be', bytes: Buffer.from([0xfe, 0xff]) },
] as const

const signatures = [
  { name: 'PNG', bytes: Buffer.from('89504e47', 'hex') },
  { name: 'JPEG', bytes: Buffer.from('ffd8ff', 'hex') },
  { name: 'GIF', bytes: Buffer.from('GIF8') },
  { name: 'WebP', at: 8, bytes: Buffer.from('WEBP') },
  { name: 'PDF', bytes: Buffer.from('%PDF-') },
  { name: 'ZIP', bytes: Buffer.from('504b0304', 'hex') },
  { name: 'gzip', bytes: Buffer.from('1f8b', 'hex') },
  { name: 'Zstandard', bytes: Buffer.from('28b52ffd', 'hex') },
  { name: 'XZ', bytes: Buffer.from('fd377a585a00', 'hex') },
  { name: 'tar', at: 257, bytes: Buffer.from('ustar') },
  { name: 'ELF', bytes: Buffer.from('7f454c46', 'hex') },
  { name: 'WebAssembly', bytes: Buffer.from('0061736d', 'hex') },
  { name: 'SQLite', bytes: Buffer.from('SQLite format 3\0') },
  { name: 'MP4', at: 4, bytes: Buffer.from('ftyp') },
  { name: 'WOFF2', bytes: Buffer.from('wOF2') },
]

/** Drops an incomplete character at the end. */
function withoutSplitEnd(head: Buffer): Buffer {
  if (head.length < headBytes) return head
  const isInside = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
  let end = head.length
  while (end > head.length - 4 && isInside(head[end - 1])) end--
  const lead = head[end - 1] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return end - 1 + length > head.length ? head.subarray(0, end - 1) : head
}

function shareOfControls(head: Buffer): number {
  const isControl = (byte: number) => byte < 32 && ![9, 10, 12, 13, 27].includes(byte)
  return head.reduce((count, byte) => count + (isControl(byte) ? 1 : 0), 0) / head.length
}
