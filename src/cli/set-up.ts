import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stringify } from 'yaml'
import { placeOf } from '../app.ts'
import { answeringNames, openAgents } from '../app-agents.ts'
import type { AgentNames } from '../config/check.ts'
import { configProblems, loadConfig, readConfigText, wholeFolder } from '../config/config.ts'
import { editConfig } from '../config/edit.ts'
import { configSet } from '../config/set.ts'
import { configGet, configShow } from '../config/show.ts'
import { type Check, examine } from '../doctor.ts'
import { Misuse } from '../domain/errors.ts'
import { socketName } from '../gateway/socket-place.ts'
import { ensureHome, homePaths } from '../home/home.ts'
import { secretReader } from '../home/secrets.ts'
import { version } from '../version.ts'
import { type Here, type Register, rareGroup } from './cli.ts'
import { paint, printable } from './screen.ts'

const group = 'SET UP'

export const registerSetUp: Register = (program, run) => {
  const config = program.command('config').helpGroup(group).description('read and change heddle.yaml')
  config.command('check').description('say everything that is wrong with the file').action(run(checkFile))
  config
    .command('show', { isDefault: true })
    .description('every setting in effect; keys are never printed')
    .action(
      run(async (here) => {
        const shown = configShow(await load(here))
        return { json: { ok: true, file: here.configFile, config: shown }, text: stringify(shown) }
      }),
    )
  config
    .command('get <key>')
    .description('one setting, such as agents.maxConcurrent')
    .action(
      run(async (here, [key = '']) => {
        const value = configGet(await load(here), key) ?? null
        return { json: { ok: true, key, value }, text: typeof value === 'string' ? value : JSON.stringify(value) }
      }),
    )
  config
    .command('set <key> <value>')
    .description('change one setting; checked before it counts, the version before is kept')
    .addHelpText('after', '\nExample: heddle config set agents.maxConcurrent 5')
    .action(
      run(async (here, [key = '', value = '']) => {
        await ensureHome(here.home)
        const names = key === 'agent.default' ? { agentNames: agentNamesAt(here) } : {}
        await configSet(here.configFile, key, value, { ...replaceOptions(here), ...names })
        const now = configGet(await load(here), key) ?? null
        return {
          json: { ok: true, key, value: now },
          text: `${key} is now ${JSON.stringify(now)}    ${here.configFile}`,
        }
      }),
    )
  config
    .command('edit')
    .description('open it in $EDITOR; only a valid file is taken over')
    .action(
      run(async (here) => {
        await ensureHome(here.home)
        const { changed } = await editConfig(here.configFile, (copy) => runEditor(here, copy, 'config edit'), {
          ...replaceOptions(here),
          agentNames: agentNamesAt(here),
        })
        return { json: { ok: true, changed }, text: changed ? `${here.configFile} is changed` : 'nothing was changed' }
      }),
    )

  program
    .command('doctor')
    .helpGroup(group)
    .description('look at everything heddle rests on; changes nothing')
    .option('--deep', 'have every model read a long prompt: paid ones charge for some thousand tokens')
    .action(run((here, _args, options) => doctor(here, options['deep'] === true)))

  program
    .command('init')
    .helpGroup(rareGroup)
    .description('make the home on purpose; whatever is there is kept')
    .action(
      run(async (here) => {
        const { path, created, kept } = await ensureHome(here.home)
        const text =
          created.length > 0 ? `made in ${path}:\n  ${created.join('\n  ')}` : `${path} has everything already`
        return { json: { ok: true, home: path, created, kept }, text: `${text}\n${kept.length} kept as they were` }
      }),
    )
}

async function checkFile(here: Here) {
  const text = await readConfigText(here.configFile)
  const problems = text === undefined ? [] : configProblems(text, here.env, agentNamesAt(here))
  const lines = problems.map(({ line, message, remedy }) => `${here.configFile}:${line} ${message}\n  → ${remedy}`)
  const fine = text === undefined ? `no file ${here.configFile}: every default applies` : `${here.configFile} is valid`
  return {
    json: { ok: problems.length === 0, file: here.configFile, problems },
    text: problems.length === 0 ? fine : lines.join('\n'),
    code: problems.length === 0 ? 0 : 1,
  }
}

async function doctor(here: Here, isDeep: boolean) {
  const paths = homePaths(here.home)
  const checks = await examine({
    home: here.home,
    paths,
    configFile: here.configFile,
    env: here.env,
    userHome: here.userHome,
    nodeVersion: process.version,
    daemon: async () => {
      const daemon = await here.daemon()
      return daemon && { ...daemon.health, socket: daemon.socket }
    },
    socket: socketName(paths.run),
    version,
    clock: here.clock,
    isDeep,
    placeOf: (config) => placeOf({ paths, config }),
    agentNames: agentNamesAt(here),
  })
  const ok = checks.every(({ status }) => status !== 'fail')
  return { json: { ok, checks }, text: checks.map((check) => finding(here, check)).join('\n'), code: ok ? 0 : 1 }
}

function finding({ screen }: Here, { name, status, detail, remedy }: Check): string {
  const colour = { ok: 'green', warn: 'yellow', fail: 'red' } as const
  const line = `${paint(screen, colour[status], status.padEnd(5))} ${name.padEnd(12)} ${printable(detail)}`
  return remedy === undefined ? line : `${line}\n${' '.repeat(19)}→ ${printable(remedy)}`
}

/** Who could answer in this folder, so that the default agent can be one of them. */
function agentNamesAt({ home, folder, clock, userHome }: Here): AgentNames {
  return ({ skills, models }) => {
    const config = { skills: skills.map((each) => wholeFolder(each, userHome)), models }
    return answeringNames(openAgents({ paths: homePaths(home), config, clock }), folder)
  }
}

export function load(here: Here) {
  const secrets = secretReader(homePaths(here.home).secrets)
  return loadConfig(here.configFile, here.env, { userHome: here.userHome, secrets })
}

export function replaceOptions({ env, home, clock, crash }: Here) {
  return { env, clock, previousConfigs: homePaths(home).previousConfigs, crash }
}

export async function runEditor(here: Here, file: string, command: string): Promise<number> {
  const editor = here.env['VISUAL'] || here.env['EDITOR']
  if (!editor) throw new Misuse('no editor is named', `set EDITOR, as in: EDITOR=nano heddle ${command}`)
  // The owner's own setting, which may carry arguments, as in EDITOR="code --wait".
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], {
    stdio: 'inherit',
    cwd: here.io.cwd,
    env: here.env,
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
