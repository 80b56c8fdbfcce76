/** `1 turn`, `2 turns`, `0 matches`. */
export function countNoun(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : pluralOf(noun)}`
}

/** The plural of a noun as we use them: no irregular one. */
export function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`
}
