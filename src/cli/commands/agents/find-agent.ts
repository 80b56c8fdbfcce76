import { realpathSync } from 'node:fs'
import type { Agents } from '../../../app/agents.ts'
import { type Agent, isLive } from '../../../domain/agent.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import { nearest } from '../../../domain/text/nearest.ts'
import type { CommandContext } from '../../command.ts'
import { printable } from '../../terminal/screen.ts'

/** Finds an agent by name or path. Of several with one name, the one in use. */
export function findAgent(here: CommandContext, all: Agents, nameOrPath: string): Agent {
  const agents = all.list(here.folder)
  const matching = matchingAgents(here, agents, nameOrPath)
  const found = matching.find(isLive) ?? matching[0]
  if (found) return found
  throw noSuchAgent(agents, nameOrPath)
}

/** All agents with this name or path. */
export function matchingAgents({ pathOf }: CommandContext, agents: readonly Agent[], nameOrPath: string): Agent[] {
  const name = nameOrPath.replace(/^(?:@|agent:)/, '')
  const whole = pathOf(nameOrPath)
  const paths = [whole, resolveLinks(whole)]
  return agents.filter((agent) => agent.name === name || paths.includes(agent.path))
}

export function noSuchAgent(agents: readonly Agent[], nameOrPath: string): HeddleError {
  if (nameOrPath.trim() === '') return new UsageError('no agent given', 'heddle agents lists them')
  const close = nearest(
    nameOrPath.replace(/^(?:@|agent:)/, ''),
    agents.map(({ name }) => name),
  )
  const remedy = close ? `did you mean ${close}?` : 'heddle agents lists them, heddle agents new creates one'
  return new HeddleError('agent_unknown', `there is no agent "${printable(nameOrPath)}"`, remedy)
}

function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
