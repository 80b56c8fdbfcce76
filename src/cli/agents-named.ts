import { realpathSync } from 'node:fs'
import type { Agents } from '../app-agents.ts'
import { type Agent, isLive } from '../domain/agent.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import type { Here } from './cli.ts'
import { printable } from './screen.ts'

/** The one that a person means by a name or a path: of several with one name the one that counts. */
export function agentNamed(here: Here, all: Agents, asked: string): Agent {
  const agents = all.list(here.folder)
  const matching = agentsMeant(here, agents, asked)
  const found = matching.find(isLive) ?? matching[0]
  if (found) return found
  throw noSuchAgent(agents, asked)
}

/** Every agent that has this name or path. */
export function agentsMeant({ pathOf }: Here, agents: readonly Agent[], asked: string): Agent[] {
  const name = asked.replace(/^(?:@|agent:)/, '')
  const whole = pathOf(asked)
  const paths = [whole, realPath(whole)]
  return agents.filter((agent) => agent.name === name || paths.includes(agent.path))
}

export function noSuchAgent(agents: readonly Agent[], asked: string): HeddleError {
  if (asked.trim() === '') return new Misuse('no agent is named', 'heddle agents lists them')
  const close = nearest(
    asked.replace(/^(?:@|agent:)/, ''),
    agents.map(({ name }) => name),
  )
  const remedy = close ? `did you mean ${close}?` : 'heddle agents lists them, heddle agents new makes one'
  return new HeddleError('agent_unknown', `there is no agent "${printable(asked)}"`, remedy)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
