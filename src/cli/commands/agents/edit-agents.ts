import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Agents, agentName, agentTemplate } from '../../../app/agents.ts'
import { placeFile, toFileError } from '../../../config/files.ts'
import type { Agent } from '../../../domain/agent.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import { ensureHome, homePaths } from '../../../home/home.ts'
import type { CommandContext, CommandResult } from '../../command.ts'
import { agentFacts, findingLines } from '../../pages/agents-page.ts'
import { canAsk, confirm } from '../../terminal/prompt.ts'
import { printable } from '../../terminal/screen.ts'
import { matchingAgents, noSuchAgent } from './find-agent.ts'

/** Writes an agent file to fill in, under a name that is not taken. */
export async function newAgent(
  here: CommandContext,
  all: Agents,
  nameOrPath: string,
  options: Record<string, unknown>,
): Promise<CommandResult> {
  const verdict = agentName(nameOrPath)
  if (!verdict.ok) throw new UsageError(`"${printable(nameOrPath)}" cannot be used: ${verdict.why}`, verdict.remedy)
  const { name, changed } = verdict
  if (changed)
    throw new UsageError(`"${printable(nameOrPath)}" is not a name for an agent`, `heddle agents new ${name}`)
  const [taken] = matchingAgents(here, all.list(here.folder), name)
  if (taken) {
    const message = `agent ${name} already exists: ${taken.path}`
    throw new HeddleError('agent_exists', message, `change it with heddle agents edit ${name}, or choose another name`)
  }
  const inFolder = options['folder'] === true
  if (!inFolder) await ensureHome(here.home)
  const directory = inFolder ? join(here.folder, '.heddle/agents') : homePaths(here.home).skills
  const path = join(directory, `${name}.md`)
  await place(path, agentTemplate(name))
  const trusted = matchingAgents(here, all.list(here.folder), path).every(({ status }) => status !== 'untrusted')
  const then = trusted ? '' : `, then: heddle agents trust ${name}`
  return {
    json: { ok: true, name, path, trusted },
    text: `wrote ${path}\nfill it in: heddle agents edit ${name}${then}`,
  }
}

/** Opens an agent file in the user's editor and reports its new status. A built-in agent is copied to the home first. */
export async function editAgent(here: CommandContext, agent: Agent, fresh: () => Agents): Promise<CommandResult> {
  const { runEditor } = await import('../set-up.ts')
  const isOurs = agent.source === 'built-in'
  if (isOurs) await ensureHome(here.home)
  const path = isOurs ? join(homePaths(here.home).skills, `${agent.name}.md`) : agent.path
  if (isOurs) await place(path, readFileSync(agent.path, 'utf8'))
  const before = readFileSync(path, 'utf8')
  const code = await runEditor(here, path, `agents edit ${agent.name}`).catch((error: unknown) => {
    if (isOurs) rmSync(path)
    throw error
  })
  if (isOurs && readFileSync(path, 'utf8') === before) rmSync(path)
  if (code !== 0)
    throw new HeddleError(
      'editor_failed',
      `the editor exited with code ${code}`,
      `check ${path}, or set EDITOR to another editor`,
    )
  const now = fresh()
    .list(here.folder)
    .find((each) => each.path === path)
  if (!now) {
    const untouched = { ok: true, name: agent.name, path: agent.path, changed: false }
    return { json: untouched, text: `nothing was changed    ${agent.path}` }
  }
  const { name, status, diagnostics } = now
  const next = status === 'untrusted' ? `heddle agents trust ${name}` : `heddle agents show ${name}`
  return {
    json: { ok: status !== 'broken', name, path, status, diagnostics },
    text: [`@${printable(name)} is ${status}    ${next}`, ...findingLines(here.screen, diagnostics)].join('\n'),
    code: status === 'broken' ? 1 : 0,
  }
}

/** Trusts a file in its current version, after showing what it grants. */
export async function trustAgent(
  here: CommandContext,
  all: Agents,
  nameOrPath: string,
  options: Record<string, unknown>,
): Promise<CommandResult> {
  const agents = all.list(here.folder)
  const matches = matchingAgents(here, agents, nameOrPath)
  const waiting = matches.filter(({ status }) => status === 'untrusted')
  const [agent, another] = waiting
  if (another) {
    const paths = waiting.map(({ path }) => path).join(' or ')
    throw new UsageError(`several files are called ${printable(nameOrPath)}`, `name one: ${paths}`)
  }
  if (!agent) throw refusal(agents, matches, nameOrPath)
  const bytes = Buffer.byteLength(agent.body)
  const lines = [
    agentFacts(here.screen, agent),
    ...findingLines(here.screen, agent.diagnostics),
    `${bytes} bytes of instructions; read them with: heddle agents show ${agent.name}`,
  ]
  if (options['yes'] !== true) {
    const remedy = `read it, then: heddle agents trust ${agent.name} --yes`
    if (here.json || !canAsk(here)) throw new UsageError('only the user can trust an agent file', remedy)
    here.tell(lines.join('\n'))
    if (!(await confirm(here, 'trust this version?')))
      throw new HeddleError('cancelled', 'not trusted', 'edit the file and try again, or leave it as it is')
  }
  all.trust(agent)
  const { name, path, hash, tools } = agent
  return {
    json: { ok: true, name, path, hash, tools, bytes },
    text: [...(options['yes'] === true ? lines : []), `@${name} is trusted until its file changes`].join('\n'),
  }
}

function refusal(agents: readonly Agent[], matches: readonly Agent[], nameOrPath: string): HeddleError {
  const [found] = matches
  if (!found) return noSuchAgent(agents, nameOrPath)
  if (found.status === 'broken')
    return new HeddleError('agent_broken', `${found.path} is broken`, `see why: heddle agents show ${found.path}`)
  const why = found.source === 'folder' ? 'is already trusted' : `is from the ${found.source} and needs no trust`
  return new HeddleError('trust_not_needed', `${found.path} ${why}`, `heddle agents show ${found.name}`)
}

async function place(path: string, text: string): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true })
    if (await placeFile(path, text)) return
  } catch (error) {
    throw toFileError(error, 'agent_unwritable', `cannot write ${path}`)
  }
  throw new HeddleError('agent_exists', `${path} already exists`, 'look at it, or move it out of the way')
}
