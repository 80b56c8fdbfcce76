/** The names in the index of agents that a prompt shows. */
export function agentsIn(system: string): string[] {
  const [, after = ''] = system.split(/^## Agents\n/m)
  const [index = ''] = after.split(/^## /m)
  return [...index.matchAll(/^- ([\w.-]+): /gm)].map(([, name = '']) => name)
}
