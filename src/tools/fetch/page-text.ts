import { groupDigits } from '../../domain/text/group-digits.ts'
import type { FetchResult } from '../../domain/tools/fetch.ts'
import { headBytes, kindOfText } from '../files/text-kind.ts'
import { readableText } from './readable.ts'
import { visibleText } from './visible-text.ts'

/** Text of a response, with notes about how it was decoded. */
export interface PageText {
  text: string
  notes: string[]
  /** Whether the text is incomplete. */
  isCut: boolean
}

/** Converts a response to text: HTML as readable text, other text unchanged, for binary data only the format. */
export function pageText({ url, contentType, body, isCut }: FetchResult): PageText | { binary: string } {
  const type = mediaType(contentType)
  const head = body.subarray(0, headBytes)
  const declared = charsetOf(contentType) ?? (type === '' || htmlTypes.has(type) ? charsetInside(head) : undefined)
  const kind = kindOfText(head)
  if ('binary' in kind) {
    const isWide = kind.binary === '' && /^utf-?16/i.test(declared ?? '')
    if (!isWide) return kind
  }
  const marked = 'mark' in kind && kind.mark > 0 ? kind.encoding : undefined
  const guessed = 'encoding' in kind ? kind.encoding : 'utf-8'
  const decoded = decode(body, marked ?? declared ?? guessed, isCut)
  const isHtml =
    htmlTypes.has(type) || (!isTextType(type) && /^\s{0,500}<(?:!doctype html|html)[\s>]/i.test(decoded.text))
  const page = isHtml ? readableText(decoded.text, url) : { text: decoded.text, isCut: false }
  const { text, removed } = visibleText(page.text)
  const notes = [
    ...decoded.notes,
    ...(removed > 0 ? [`removed ${removed} invisible characters`] : []),
    ...(isCut ? [`only the first ${groupDigits(body.length)} bytes were read`] : []),
  ]
  return { text, notes, isCut: isCut || page.isCut }
}

/** `text/html` of `Text/HTML; charset=…`; empty if invalid. */
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
  const declared = /<meta\s[^>]{0,200}?charset\s{0,20}=\s{0,20}["']?([^\s"';/>]{1,40})/i.exec(start)?.[1]
  // A meta tag that can be read as ASCII cannot be in UTF-16.
  return declared && /^utf-?16/i.test(declared) ? 'utf-8' : declared
}

function decode(body: Buffer, charset: string, isCut: boolean): { text: string; notes: string[] } {
  const knownDecoder = decoderOf(charset)
  // Streaming holds back a character that was cut, instead of replacing it.
  const text = (knownDecoder ?? new TextDecoder()).decode(body, { stream: isCut })
  return {
    text,
    notes: [
      ...(knownDecoder ? [] : [`the charset "${charset.replace(/[^\w.:-]/g, '?')}" is not known: shown as UTF-8`]),
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
