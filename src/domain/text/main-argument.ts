/** Parameter names that tell best what a call is about, most telling first. */
const mainParameters = ['path', 'file', 'command', 'query', 'pattern', 'url', 'task', 'name']
const maxLength = 200

/** The argument that best describes a tool call, shortened. Empty if there is none. */
export function mainArgument(input: unknown): string {
  const text = typeof input === 'object' && input !== null ? firstOf(input as Record<string, unknown>) : input
  return typeof text === 'string' || typeof text === 'number' ? String(text).slice(0, maxLength) : ''
}

function firstOf(input: Record<string, unknown>): unknown {
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  const parameter = mainParameters.find((name) => Object.hasOwn(input, name) && isPlain(input[name]))
  return parameter === undefined ? Object.values(input).find(isPlain) : input[parameter]
}
