/** A whole number with a comma between thousands. By hand: a formatter reads the tables of a language first. */
export function groupDigits(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, ',')
}
