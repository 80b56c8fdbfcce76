import { join } from 'node:path'
import pg from 'pg'
import { prepareHome } from './prepare.ts'

/** Databases to begin with, made once per server, and copies of them. */
export class Databases {
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
    await prepareHome(home, url)
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
