import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Agents, agentName, agentTemplate } from '../app-agents.ts'
import { fileTrouble, placeFile } from '../config/files.ts'
import type { Agent } from '../domain/agent.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { ensureHome, homePaths } from '../home/home.ts'
import { agentsMeant, noSuchAgent } from './agents-named.ts'
import { agentFacts, findingLines } from './agents-page.ts'
import type { Answer, Here } from './cli.ts'
import { agrees, canAsk } from './prompt.ts'
import { printable } from './screen.ts'

/** Writes a file to fill in, under a name that nobody has yet. */
export async function newAgent(
  here: Here,
  all: Agents,
  asked: string,
  options: Record<string, unknown>,
): Promise<Answer> {
  const verdict = agentName(asked)
  if (!verdict.ok) throw new Misuse(`"${printable(asked)}" cannot be used: ${verdict.why}`, verdict.remedy)
  const { name, changed } = verdict
  if (changed) throw new Misuse(`"${printable(asked)}" is not a name for an agent`, `heddle agents new ${name}`)
  const [taken] = agentsMeant(here, all.list(here.folder), name)
  if (taken) {
    const message = `there is an agent ${name} already: ${taken.path}`
    throw new HeddleError('agent_exists', message, `change it with heddle agents edit ${name}, or take another name`)
  }
  const inFolder = options['folder'] === true
  if (!inFolder) await ensureHome(here.home)
  const directory = inFolder ? join(here.folder, '.heddle/agents') : homePaths(here.home).skills
  const path = join(directory, `${name}.md`)
  await place(path, agentTemplate(name))
  const trusted = agentsMeant(here, all.list(here.folder), path).every(({ status }) => status !== 'untrusted')
  const then = trusted ? '' : `, then: heddle agents trust ${name}`
  return {
    json: { ok: true, name, path, trusted },
    text: `wrote ${path}\nfill it in: heddle agents edit ${name}${then}`,
  }
}

/** Opens a file in the owner's editor and says what it looks like afterwards, to `fresh` eyes. Ours are copied first. */
export async function editAgent(here: Here, agent: Agent, fresh: () => Agents): Promise<Answer> {
  const { runEditor } = await import('./set-up.ts')
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
    throw new HeddleError('editor_failed', `the editor ended with ${code}`, `look at ${path}, or set EDITOR to another`)
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

/** Lets a file count as it is now, after showing what that means. */
export async function trustAgent(
  here: Here,
  all: Agents,
  asked: string,
  options: Record<string, unknown>,
): Promise<Answer> {
  const agents = all.list(here.folder)
  const meant = agentsMeant(here, agents, asked)
  const waiting = meant.filter(({ status }) => status === 'untrusted')
  const [agent, another] = waiting
  if (another) {
    const paths = waiting.map(({ path }) => path).join(' or ')
    throw new Misuse(`several files are called ${printable(asked)}`, `name one: ${paths}`)
  }
  if (!agent) throw refusal(agents, meant, asked)
  const bytes = Buffer.byteLength(agent.body)
  const lines = [
    agentFacts(here.screen, agent),
    ...findingLines(here.screen, agent.diagnostics),
    `its instructions have ${bytes} bytes; read them with: heddle agents show ${agent.name}`,
  ]
  if (options['yes'] !== true) {
    const remedy = `read it, then: heddle agents trust ${agent.name} --yes`
    if (here.json || !canAsk(here)) throw new Misuse('trust is given by a person', remedy)
    here.tell(lines.join('\n'))
    if (!(await agrees(here, 'trust this version of it?')))
      throw new HeddleError('cancelled', 'it is not trusted', 'change the file, or leave it')
  }
  all.trust(agent)
  const { name, path, hash, tools } = agent
  return {
    json: { ok: true, name, path, hash, tools, bytes },
    text: [...(options['yes'] === true ? lines : []), `@${name} is trusted until its file changes`].join('\n'),
  }
}

function refusal(agents: readonly Agent[], meant: readonly Agent[], asked: string): HeddleError {
  const [found] = meant
  if (!found) return noSuchAgent(agents, asked)
  if (found.status === 'broken')
    return new HeddleError('agent_broken', `${found.path} is broken`, `see why: heddle agents show ${found.path}`)
  const why = found.source === 'folder' ? 'is trusted already' : `comes from the ${found.source} and needs no trust now`
  return new HeddleError('trust_not_needed', `${found.path} ${why}`, `heddle agents show ${found.name}`)
}

async function place(path: string, text: string): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true })
    if (await placeFile(path, text)) return
  } catch (error) {
    throw fileTrouble(error, 'agent_unwritable', `Cannot write ${path}`)
  }
  throw new HeddleError('agent_exists', `there is a file ${path} already`, `look at it, or move it away`)
}
