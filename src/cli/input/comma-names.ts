/** Names in an option, separated by commas. */
export function commaNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}
