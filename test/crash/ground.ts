import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { followRules, type ProviderRule, startProvider, type TestProvider } from '../../src/testing.ts'
import { bundle } from '../setup/bundle.ts'
import { startProgram } from './life.ts'
import { type Scenario, type ScenarioName, scenarioNamed } from './scenarios.ts'
import { Watch } from './watch.ts'

const root = join(import.meta.dirname, '../..')

/** What many cycles share: the program that is killed, a home and databases to copy, and the checker. */
export interface Ground {
  /** `act`, in one file: it starts four times as fast as its sources do. */
  program: string
  checker: Watch
  /** Everything a cycle needs and that nothing else touches. */
  newWorld(scenario: ScenarioName, database: string): Promise<CrashWorld>
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

export async function layGround(): Promise<Ground> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-ground-'))
  const program = await bundleIn(directory)
  const checker = new Watch()
  const databases = new Databases(directory)
  let made = 0
  return {
    program,
    checker,
    async newWorld(name, database) {
      const scenario = scenarioNamed(name)
      const world = join(directory, `world-${++made}`)
      mkdirSync(world)
      const paths = { providerLog: join(world, 'provider.jsonl'), toolLog: join(world, 'tools.jsonl') }
      for (const log of Object.values(paths)) writeFileSync(log, '')
      const homes = { home: join(world, 'home'), otherHome: join(world, 'other-home') }
      const template = await databases.template(database)
      if (!scenario.fresh) for (const home of Object.values(homes)) cpSync(template.home, home, { recursive: true })
      const own = await databases.make(database, scenario.fresh ? undefined : template.name)
      const provider = await startProvider({ answer: answering(scenario), log: paths.providerLog })
      return {
        directory: world,
        database: own.url,
        provider,
        ...paths,
        ...homes,
        async remove() {
          await provider.close()
          await own.drop()
          rmSync(world, { recursive: true, force: true })
        },
      }
    },
    async remove() {
      checker.close()
      await databases.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function answering({ rules, answers }: Scenario): ProviderRule {
  const byRules = followRules(rules)
  return (request) => answers?.(request) ?? byRules(request)
}

/** With what the program looks for beside itself. */
function bundleIn(directory: string): Promise<string> {
  copyFileSync(join(root, 'package.json'), join(directory, 'package.json'))
  cpSync(join(root, 'agents'), join(directory, 'agents'), { recursive: true })
  return bundle('test/crash/act.ts', join(directory, 'bundle'))
}

/** Databases to begin with, made once per server, and copies of them. */
class Databases {
  readonly #directory: string
  readonly #prefix = `crash_${process.pid}`
  readonly #templates = new Map<string, Promise<{ home: string; name: string }>>()
  readonly #servers = new Map<string, pg.Pool>()
  #made = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  template(database: string): Promise<{ home: string; name: string }> {
    const known = this.#templates.get(database)
    if (known) return known
    const made = this.#makeTemplate(database, join(this.#directory, `template-${this.#templates.size + 1}`))
    this.#templates.set(database, made)
    return made
  }

  async #makeTemplate(database: string, home: string): Promise<{ home: string; name: string }> {
    const { url, name } = await this.make(database)
    const { child, complaints } = startProgram(join(import.meta.dirname, 'prepare.ts'), [
      JSON.stringify({ home, database: url }),
    ])
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`nothing could be prepared: ${complaints()}`)
    return { home, name }
  }

  /** A database of its own on this server; nothing to do where it is a file in a home. */
  async make(database: string, template?: string): Promise<{ url: string; name: string; drop(): Promise<void> }> {
    if (database === 'sqlite') return { url: 'sqlite', name: '', drop: async () => undefined }
    const server = this.#server(database)
    const name = `${this.#prefix}_${++this.#made}`
    await server.query(`CREATE DATABASE ${name}${template ? ` TEMPLATE ${template}` : ''}`)
    const url = new URL(database)
    url.pathname = `/${name}`
    return { url: url.toString(), name, drop: async () => void (await this.#drop(server, name)) }
  }

  async close(): Promise<void> {
    for (const [database, server] of this.#servers) {
      const template = await this.#templates.get(database)?.catch(() => undefined)
      if (template) await this.#drop(server, template.name)
      await server.end()
    }
  }

  #server(database: string): pg.Pool {
    const server = this.#servers.get(database) ?? new pg.Pool({ connectionString: database, max: 2 })
    this.#servers.set(database, server)
    return server
  }

  #drop(server: pg.Pool, name: string): Promise<unknown> {
    // Connections of killed processes may linger for a moment.
    return server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
}
