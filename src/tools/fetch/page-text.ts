import type { Fetched } from '../../domain/fetch.ts'
import { headBytes, kindOfText } from '../text-kind.ts'
import { readableText } from './readable.ts'
import { visibleText } from './visible-text.ts'

/** What a reader gets to see of an answer, and what they must know of how it was read. */
export interface PageText {
  text: string
  notes: string[]
  /** Whether there is more of it than was read. */
  isCut: boolean
}

/** An answer as text: pages as a reader would have them, other text as it stands, the rest only named. */
export function pageText({ url, contentType, body, isCut }: Fetched): PageText | { binary: string } {
  const type = mediaType(contentType)
  const head = body.subarray(0, headBytes)
  const told = charsetOf(contentType) ?? (type === '' || htmlTypes.has(type) ? charsetInside(head) : undefined)
  const kind = kindOfText(head)
  if ('binary' in kind) {
    const isWide = kind.binary === '' && /^utf-?16/i.test(told ?? '')
    if (!isWide) return kind
  }
  const marked = 'mark' in kind && kind.mark > 0 ? kind.encoding : undefined
  const guessed = 'encoding' in kind ? kind.encoding : 'utf-8'
  const decoded = decode(body, marked ?? told ?? guessed, isCut)
  const isHtml =
    htmlTypes.has(type) || (!isTextType(type) && /^\s{0,500}<(?:!doctype html|html)[\s>]/i.test(decoded.text))
  const page = isHtml ? readableText(decoded.text, url) : { text: decoded.text, isCut: false }
  const { text, removed } = visibleText(page.text)
  const notes = [
    ...decoded.notes,
    ...(removed > 0 ? [`removed ${removed} invisible characters`] : []),
    ...(isCut ? [`only the first ${body.length.toLocaleString('en-US')} bytes were read`] : []),
  ]
  return { text, notes, isCut: isCut || page.isCut }
}

/** `text/html` of `Text/HTML; charset=…`; empty when it is nothing of the kind. */
export function mediaType(contentType: string): string {
  return /^\s*([a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,60})\s*(?:;|$)/i.exec(contentType)?.[1]?.toLowerCase() ?? ''
}

const htmlTypes = new Set(['text/html', 'application/xhtml+xml'])

function isTextType(type: string): boolean {
  return /^text\/|[/+](?:json|xml|javascript|yaml)$/.test(type)
}

function charsetOf(contentType: string): string | undefined {
  return /;\s{0,20}charset\s{0,20}=\s{0,20}["']?([^\s"';]{1,40})/i.exec(contentType)?.[1]
}

function charsetInside(head: Buffer): string | undefined {
  const start = head.subarray(0, 1024).toString('latin1')
  const told = /<meta\s[^>]{0,200}?charset\s{0,20}=\s{0,20}["']?([^\s"';/>]{1,40})/i.exec(start)?.[1]
  // Had it been UTF-16, nobody could have read so far.
  return told && /^utf-?16/i.test(told) ? 'utf-8' : told
}

function decode(body: Buffer, charset: string, isCut: boolean): { text: string; notes: string[] } {
  const known = decoderOf(charset)
  // Streaming holds back the first bytes of a character that was cut, instead of calling them damage.
  const text = (known ?? new TextDecoder()).decode(body, { stream: isCut })
  return {
    text,
    notes: [
      ...(known ? [] : [`the charset "${charset.replace(/[^\w.:-]/g, '?')}" is not known: shown as UTF-8`]),
      ...(text.includes('\ufffd') ? ['some bytes are not text and are shown as \ufffd'] : []),
    ],
  }
}

function decoderOf(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}
