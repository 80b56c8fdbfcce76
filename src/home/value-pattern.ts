/** Values from this length on are found within longer words, and in small and capital letters. */
export const minInside = 12

/** Of a script that puts spaces between words: in others a value stands beside the next word. */
const wordChar = String.raw`(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー])[\p{L}\p{N}])`

/** A value with more characters that may be escaped is found without escapes: a pattern of it would be too large. */
const maxEscaped = 500

/** What stands between words: in a text, also of quoted lines, and in an address. */
const anySpace = String.raw`(?:\s+(?:>\s*)*|\+|%20)`

/** From a character of ASCII to its full-width form. */
const fullWidth = 0xfee0

const entityNames = new Map(Object.entries({ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }))

/** Finds a value as it is, and as texts (in other line breaks or Unicode forms), addresses, JSON, HTML and Markdown write it. */
export function valuePattern(value: string): RegExp {
  const forms = [...new Set([value, value.normalize('NFC'), value.normalize('NFD')])]
  const written = `(?:${forms.map(writtenForms).join('|')})`
  return value.length < minInside
    ? new RegExp(`(?<!${wordChar})${written}(?!${wordChar})`, 'gu')
    : new RegExp(written, 'giu')
}

function writtenForms(form: string): string {
  const words = form.split(/(?<=\S)\s+(?=\S)/u)
  const isLong = (form.match(/[^0-9A-Za-z]/gu) ?? []).length > maxEscaped
  if (isLong) return words.map((word) => RegExp.escape(word)).join('\\s+')
  return words.map((word) => [...word].map(charForms).join('')).join(anySpace)
}

/** Letters and digits of ASCII are written as they are, or in full width; all others may be escaped. */
function charForms(char: string): string {
  if (/^[0-9A-Za-z]$/.test(char)) return `[${char}${String.fromCodePoint((char.codePointAt(0) ?? 0) + fullWidth)}]`
  const inAddress = [...new TextEncoder().encode(char)].map((byte) => `%${anyCase(byte, 2)}`).join('')
  const inJson = char.split('').map((unit) => `\\\\u${anyCase(unit.charCodeAt(0), 4)}`)
  const code = char.codePointAt(0) ?? 0
  const name = entityNames.get(char)
  const inHtml = `&(?:#${code}|#x${anyCase(code, 1)}${name === undefined ? '' : `|${name}`});`
  return `(?:\\\\?${RegExp.escape(char)}|${inAddress}|${inJson.join('')}|${inHtml})`
}

/** A number in hexadecimal digits, small or capital ones. */
function anyCase(number: number, digits: number): string {
  const written = number.toString(16).padStart(digits, '0')
  return written.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
