/** What a link of `why` is called in a terminal and on the page. */
export function linkLabel(how: string): string {
  return labels[how] ?? how
}

/** Labels for links of `why` whose name in JSON says less. */
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
