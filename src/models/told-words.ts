/** What a provider said, fit for one line of ours; providers quote keys, whole or in part. */
export function toldWords(words: string, key = ''): string {
  const line = words
    .slice(0, 2_000)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
  const shown = withoutKey(line, key)
  return shown.length > 300 ? `${shown.slice(0, 299)}…` : shown
}

function withoutKey(text: string, key: string): string {
  if (key === '') return text
  let shown = text.replaceAll(key, '[redacted]')
  for (let at = 0; at + 8 <= key.length; at++) shown = shown.replaceAll(key.slice(at, at + 8), '[redacted]')
  return shown
}
