/** Provider message as one short line, without the key: providers quote keys, whole or in part. */
export function cleanProviderText(text: string, key = ''): string {
  const line = text
    .slice(0, 2_000)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
  const redacted = withoutKey(line, key)
  return redacted.length > 300 ? `${redacted.slice(0, 299)}…` : redacted
}

function withoutKey(text: string, key: string): string {
  if (key === '') return text
  let redacted = text.replaceAll(key, '[redacted]')
  for (let at = 0; at + 8 <= key.length; at++) redacted = redacted.replaceAll(key.slice(at, at + 8), '[redacted]')
  return redacted
}
