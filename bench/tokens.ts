/** A request in the form in which everybody's are counted. */
export interface Sent {
  system: string
  messages: { content: string; calls: { name: string; input: unknown }[] }[]
  tools: { name: string; description: string; schema: unknown }[]
}

/** All of a request that a provider is sent and charges for, in tokens of four characters. */
export function tokensIn({ system, messages, tools }: Sent): number {
  const said = messages.reduce(
    (sum, { content, calls }) => sum + content.length + (calls.length > 0 ? JSON.stringify(calls).length : 0),
    0,
  )
  return Math.ceil((system.length + said + JSON.stringify(tools).length) / 4)
}
