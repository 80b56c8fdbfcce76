/** `column IN (…)` without its price: for a list of three or more SQLite builds a temporary table at every insert. */
export function oneOf(column: string, values: string[]): string {
  return `(${values.map((value) => `${column} = '${value}'`).join(' OR ')})`
}
