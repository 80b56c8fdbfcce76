import { existsSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type Agents, type AgentsHere, agentsIn, hasNotedFolders, openAgents } from '../app-agents.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Agent } from '../domain/agent.ts'
import { Misuse } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import { homePaths } from '../home/home.ts'
import { secretReader } from '../home/secrets.ts'
import { editAgent, newAgent, trustAgent } from './agents-keep.ts'
import { agentNamed, agentsMeant, noSuchAgent } from './agents-named.ts'
import { agentCounts, agentFacts, agentList, agentRow, findingLines, findingPages } from './agents-page.ts'
import type { Answer, Here, Register } from './cli.ts'
import { printable } from './screen.ts'

export const registerAgents: Register = (program, run) => {
  const agents = program
    .command('agents')
    .alias('skills')
    .helpGroup('SET UP')
    .description('who can be given work: markdown files, yours and ours')
  agents
    .command('list [name]', { isDefault: true })
    .alias('ls')
    .description('everyone there is here')
    .action(run((here, [name]) => (name === undefined ? list(here) : showOrAdvise(here, name, agents))))
  agents
    .command('show <name>')
    .description('the whole file, and everything heddle has to say about it')
    .action(run((here, [name = '']) => show(here, name)))
  agents
    .command('new <name>')
    .description('write a file to fill in, in the home')
    .option('--folder', 'in this folder (.heddle/agents), for everyone who works in it')
    .addHelpText('after', '\nExample: heddle agents new release-notes')
    .action(run(async (here, [name = ''], options) => newAgent(here, await openHere(here), name, options)))
  agents
    .command('edit <name>')
    .description('open its file in $EDITOR and check it; of one of ours, a copy in the home')
    .action(
      run(async (here, [name = '']) => {
        const known = await agentsHere(here)
        return editAgent(here, agentNamed(here, openAgents(known), name), () => openAgents(known))
      }),
    )
  agents
    .command('check [what...]')
    .description('say everything about the files: all here, agents by name, any directories; trusts nothing')
    .addHelpText('after', '\nExamples: heddle agents check release-notes    heddle agents check ~/.claude/agents')
    .action(run((here, what) => check(here, what)))
  agents
    .command('test [names...]')
    .description('measure agents on your model: a small task and what must be so after it; without names all of ours')
    .option('-m, --model <name>', 'one of the models of heddle.yaml')
    .option('--new', 'write a test to fill in, beside the file of the agent')
    .addHelpText('after', testHelp)
    .action(
      run(async (here, names, options) => {
        const { testAgents } = await import('./agents-test.ts')
        return testAgents(here, await settingsHere(here), names, options)
      }),
    )
  agents
    .command('trust <name>')
    .description('let a file that agents could have written count, as it is now; by name or path')
    .option('-y, --yes', 'without asking')
    .action(run(async (here, [name = ''], options) => trustAgent(here, await openHere(here), name, options)))
}

const testHelp = `
A test is a directory beside the agent's file, named like it: coder.md has
coder.test with task.md (what it is asked), files/ (what it works on) and
checks.json (what must be so afterwards).

Example: heddle agents test coder -m local`

async function list(here: Here): Promise<Answer> {
  const known = await agentsHere(here)
  const { agents, diagnostics } = openAgents(known).look(here.folder)
  const counts = agentCounts(agents, diagnostics.length)
  const next = counts === '' ? 'heddle agents show NAME    heddle agents new NAME' : `${counts}    heddle agents check`
  // Agents that are left out stand in no list of agents.
  const aboutDirectories =
    diagnostics.length === 0 ? [] : [findingLines(here.screen, diagnostics, { paths: true }).join('\n')]
  const text =
    agents.length === 0
      ? 'none yet    heddle agents new NAME'
      : [agentList(here.screen, agents), ...aboutDirectories, whoAnswers(known.config), next].join('\n\n')
  return { json: { agents: agents.map(agentRow), diagnostics }, text }
}

/** Who is talked to when nobody is named: the two who are there without a file are in no list of files. */
function whoAnswers({ agent }: Config): string {
  const name = `@${printable(agent.default.replace(/^@/, ''))}`
  const does = name === '@coordinator' ? ' and gives them work; @general works alone' : ''
  return `${name} answers${does}    agent.default`
}

/** `heddle agents coder` means the agent; a word that is none was meant as a command, as likely as not. */
async function showOrAdvise(here: Here, word: string, { commands }: Command): Promise<Answer> {
  const known = (await openHere(here)).list(here.folder)
  if (agentsMeant(here, known, word).length > 0) return show(here, word)
  const close = nearest(
    word,
    commands.map((command) => command.name()),
  )
  if (close) throw new Misuse(`there is no command "${printable(word)}"`, `did you mean: heddle agents ${close}`)
  throw noSuchAgent(known, word)
}

async function show(here: Here, name: string): Promise<Answer> {
  const agent = agentNamed(here, await openHere(here), name)
  const parts = [
    [agentFacts(here.screen, agent), ...findingLines(here.screen, agent.diagnostics)].join('\n'),
    printable(fileText(agent), { lines: true }),
  ]
  return { json: agent, text: parts.filter((part) => part !== '').join('\n\n') }
}

async function check(here: Here, what: string[]): Promise<Answer> {
  const known = await agentsHere(here)
  const meant = what.map((word) =>
    existsSync(here.pathOf(word)) ? [] : agentsMeant(here, openAgents(known).list(here.folder), word),
  )
  if (what.length > 0 && meant.every((agents) => agents.length > 0)) return checkNamed(here, meant.flat())
  return checkFiles(here, what, known)
}

function checkNamed(here: Here, agents: Agent[]): Answer {
  const ok = agents.every(({ status }) => status !== 'broken')
  const text = agents
    .map((agent) => [agentFacts(here.screen, agent), ...findingLines(here.screen, agent.diagnostics)].join('\n'))
    .join('\n\n')
  return { json: { ok, agents: agents.map(agentRow), diagnostics: [] }, text, code: ok ? 0 : 1 }
}

function checkFiles(here: Here, directories: string[], known: AgentsHere): Answer {
  const { agents, diagnostics } =
    directories.length === 0
      ? openAgents(known).look(here.folder)
      : agentsIn(
          directories.map((path) => here.pathOf(path)),
          known,
        ).look()
  const ok = agents.every(({ status }) => status !== 'broken') && diagnostics.every(({ level }) => level !== 'error')
  const counts = agentCounts(agents, diagnostics.length)
  const sum = `${agents.length} agents${counts === '' ? ', all ready' : `: ${counts}`}`
  const text = [
    ...findingPages(here.screen, agents),
    ...(diagnostics.length === 0 ? [] : [findingLines(here.screen, diagnostics, { paths: true }).join('\n')]),
    agents.length === 0 && directories.length > 0 ? 'no agents: there are no .md files with a head' : sum,
  ].join('\n\n')
  return { json: { ok, agents: agents.map(agentRow), diagnostics }, text, code: ok ? 0 : 1 }
}

async function openHere(here: Here): Promise<Agents> {
  return openAgents(await agentsHere(here))
}

/** With the folders of sessions, which decide who needs trust, noted in a home that has sessions of an earlier version. */
async function agentsHere(here: Here): Promise<AgentsHere & { config: Config }> {
  const found = await settingsHere(here)
  const mayHaveSessions = found.config.database !== 'sqlite' || existsSync(homePaths(here.home).database)
  if (mayHaveSessions && !hasNotedFolders(found.paths))
    await here.app().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      here.tell(`the folders of your sessions are not known, so agents in them look trusted here: ${why}`)
    })
  return found
}

async function settingsHere(here: Here): Promise<AgentsHere & { config: Config }> {
  const paths = homePaths(here.home)
  const secrets = secretReader(paths.secrets)
  const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome, secrets })
  return { paths, config, clock: here.clock }
}

/** The file as it stands, or nothing where it is no text. */
function fileText({ path, hash }: Agent): string {
  if (hash === '') return ''
  const text = readFileSync(path, 'utf8')
  return text.includes('\0') || text.length > 1024 * 1024 ? '' : text.trimEnd()
}
