/** Agent names in the agent index of a system prompt. */
export function agentNamesIn(system: string): string[] {
  const [, after = ''] = system.split(/^## Agents\n/m)
  const [index = ''] = after.split(/^## /m)
  return [...index.matchAll(/^- @([\w.-]+): /gm)].map(([, name = '']) => name)
}
