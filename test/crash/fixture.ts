import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { followRules, type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { buildOnce } from '../setup/build-once.ts'
import { bundleWhole } from '../setup/bundle.ts'
import { Databases } from './databases.ts'
import { type Scenario, type ScenarioName, scenarioNamed } from './scenarios.ts'
import { Watch } from './watch.ts'

/** What many cycles share: the program that is killed, a home and databases to copy, and the checker. */
export interface Ground {
  /** `act`, in one file: it starts four times as fast as its sources do. */
  program: string
  checker: Watch
  /** Everything a cycle needs and that nothing else touches. */
  newTestRuntime(scenario: ScenarioName, database: string): Promise<CrashWorld>
  remove(): Promise<void>
}

/** A home or several, a database, a provider and logs: one cycle's, or those of a test. */
export interface CrashWorld {
  directory: string
  database: string
  provider: TestProvider
  providerLog: string
  toolLog: string
  /** The first home, and one as another machine would have it. */
  home: string
  otherHome: string
  remove(): Promise<void>
}

/** Builds the program in a folder that other grounds share, if there is one. */
export async function layGround(shared?: string): Promise<Ground> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-ground-'))
  const clear = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', clear)
  const program = await programIn(shared ?? directory)
  const checker = new Watch()
  const databases = new Databases(directory)
  let made = 0
  return {
    program,
    checker,
    async newTestRuntime(name, database) {
      const scenario = scenarioNamed(name)
      const runtime = join(directory, `world-${++made}`)
      mkdirSync(join(runtime, 'work'), { recursive: true })
      const paths = { providerLog: join(runtime, 'provider.jsonl'), toolLog: join(runtime, 'tools.jsonl') }
      for (const log of Object.values(paths)) writeFileSync(log, '')
      const homes = { home: join(runtime, 'home'), otherHome: join(runtime, 'other-home') }
      const template = await databases.template(database)
      if (!scenario.fresh) for (const home of Object.values(homes)) cpSync(template.home, home, { recursive: true })
      const own = await databases.make(database, scenario.fresh ? undefined : template.name)
      const provider = await startProvider({ answer: answering(scenario), log: paths.providerLog })
      return {
        directory: runtime,
        database: own.url,
        provider,
        ...paths,
        ...homes,
        async remove() {
          await provider.close()
          await own.drop()
          rmSync(runtime, { recursive: true, force: true })
        },
      }
    },
    async remove() {
      checker.close()
      await databases.close()
      process.off('exit', clear)
      clear()
    },
  }
}

function answering({ rules, answers }: Scenario): ProviderRule {
  const byRules = followRules(rules)
  return (request) => answers?.(request) ?? byRules(request)
}

/** With what the program looks for beside itself. */
async function programIn(parent: string): Promise<string> {
  const folder = join(parent, 'crash-program')
  await buildOnce(folder, async (directory) => {
    await bundleWhole('test/crash/act.ts', directory)
  })
  return join(folder, 'programs/act.js')
}
