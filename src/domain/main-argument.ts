/** Names under which tools are told what they are about, the most telling first. */
const telling = ['path', 'file', 'command', 'query', 'pattern', 'url', 'task', 'name']
const longest = 200

/** What a tool call is about, in one short text: the argument that a person would name first. Empty if there is none. */
export function mainArgument(input: unknown): string {
  const text = typeof input === 'object' && input !== null ? firstOf(input as Record<string, unknown>) : input
  return typeof text === 'string' || typeof text === 'number' ? String(text).slice(0, longest) : ''
}

function firstOf(input: Record<string, unknown>): unknown {
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  const named = telling.find((name) => Object.hasOwn(input, name) && isPlain(input[name]))
  return named === undefined ? Object.values(input).find(isPlain) : input[named]
}
