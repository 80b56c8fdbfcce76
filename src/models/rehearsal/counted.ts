/** What people write beside what is left to do: the one word that is looked for without being asked. */
export const leftToDo = 'TODO'

/** A number that was counted; without one, that it was not. */
export function count(value: number | undefined, noun: string): string {
  if (value === undefined) return `${plural(noun)} not counted`
  return `${value} ${value === 1 ? noun : plural(noun)}`
}

function plural(noun: string): string {
  if (noun === leftToDo) return noun
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
}
