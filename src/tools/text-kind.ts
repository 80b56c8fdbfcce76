import { isUtf8 } from 'node:buffer'

/** How the bytes of a text are read, and how many of them stand before it. */
export interface TextKind {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'
  mark: number
}

/** How much of a file must be seen to tell what it is. */
export const headBytes = 8192

// Text has next to none of these; one in fifty, and it is something else.
const mostControls = 0.02

/** What a file is, told from its first bytes; `binary` says what it looks like, where that can be said. */
export function kindOfText(head: Buffer): TextKind | { binary: string } {
  const looks = signatures.find(({ at = 0, bytes }) => head.subarray(at, at + bytes.length).equals(bytes))
  if (looks) return { binary: looks.name }
  const mark = marks.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes))
  if (mark) return { encoding: mark.encoding, mark: mark.bytes.length }
  if (head.includes(0)) return { binary: '' }
  if (isUtf8(withoutSplitEnd(head))) return { encoding: 'utf-8', mark: 0 }
  return shareOfControls(head) > mostControls ? { binary: '' } : { encoding: 'windows-1252', mark: 0 }
}

/** A whole file as text; undefined when it is binary. */
export function textOf(bytes: Buffer): string | undefined {
  const kind = kindOfText(bytes.subarray(0, headBytes))
  return 'binary' in kind ? undefined : new TextDecoder(kind.encoding).decode(bytes)
}

/** What a reader must know of how a text was read; undefined for plain UTF-8. */
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

/** Without the first bytes of a character whose rest did not fit. */
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
