import { z } from 'zod'
import { lazy } from '../lazy.ts'
import { type SandboxPermissions, sandboxPermissions } from '../persona.ts'

const names = () => z.array(z.string().max(200)).readonly()

/**
 * The most that a run, and everything below it, may have. A limit that is left out limits nothing, so that a kind of limit
 * can be added without a change to stored rows.
 */
export const ceiling = lazy(() =>
  z.strictObject({
    /** Names of tools. */
    tools: names().exactOptional(),
    /** Names of models. */
    models: names().exactOptional(),
    /** Limits on commands. */
    sandbox: sandboxPermissions().exactOptional(),
    /** Names of credentials that commands see. */
    credentials: names().exactOptional(),
    /** Names of the agent files that it may start or hand on as skills. */
    skills: names().exactOptional(),
    /** Names of MCP servers. */
    mcpServers: names().exactOptional(),
  }),
)
export type Ceiling = z.infer<ReturnType<typeof ceiling>>

/** What all of the ceilings leave; the only place that narrows them. Names keep the order of the first list. */
export function intersectCeilings(...ceilings: readonly Ceiling[]): Ceiling {
  const sandbox = intersectSandboxes(ceilings.flatMap((each) => each.sandbox ?? []))
  return {
    ...narrow('tools'),
    ...narrow('models'),
    ...(sandbox && { sandbox }),
    ...narrow('credentials'),
    ...narrow('skills'),
    ...narrow('mcpServers'),
  }

  function narrow(key: NameLimit): Pick<Ceiling, NameLimit> {
    const names = intersectNames(ceilings.map((each) => each[key]))
    return names ? { [key]: names } : {}
  }
}

type NameLimit = 'tools' | 'models' | 'credentials' | 'skills' | 'mcpServers'

/** The least of each limit. */
function intersectSandboxes(sandboxes: readonly SandboxPermissions[]): SandboxPermissions | undefined {
  if (sandboxes.length === 0) return undefined
  const least = (key: 'timeoutSeconds' | 'memoryMB' | 'processes') => {
    const limits = sandboxes.flatMap((each) => each[key] ?? [])
    return limits.length === 0 ? {} : { [key]: Math.min(...limits) }
  }
  return {
    ...(sandboxes.some(({ network }) => network === false) && { network: false as const }),
    ...least('timeoutSeconds'),
    ...least('memoryMB'),
    ...least('processes'),
  }
}

function intersectNames(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined)
  return first?.filter((name) => others.every((list) => list.includes(name)))
}
