/** Labels for links whose name in JSON says less; the same as in a terminal. */
const labels: Partial<Record<string, string>> = {
  'told in': 'summarised in',
  'tells of': 'summary of',
  'goes on from': 'continues',
  'noted in': 'saved in',
  'because of': 'for',
  'made by': 'produced by',
  'was told': 'input',
  'went on in': 'continued in',
  'heard in': 'delivered to',
  'kept as': 'saved as',
  'let go on': 'resumed',
  'came to': 'produced',
  left: 'answered with',
  began: 'started',
  'begun with': 'shown to',
}

export function linkLabel(how: string): string {
  return labels[how] ?? how
}
