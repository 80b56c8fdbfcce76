import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { keptPage } from '../../scripts/web.ts'
import { buildOnce } from '../setup/build-once.ts'
import { builtHeddle } from '../setup/built-heddle.ts'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/heddle-web')

/** The page of this checkout, built when one of its sources has changed. */
export async function builtPage(): Promise<string> {
  const place = keptPage()
  await buildOnce(place, buildInProduction)
  return place
}

/** Heddle as in the package, with the page beside it: the launcher of both. */
export async function builtWithPage(): Promise<string> {
  const [launcher, page] = await Promise.all([builtHeddle(), builtPage()])
  const program = dirname(dirname(launcher))
  const place = join(cache, `heddle-${createHash('sha256').update(`${program} ${page}`).digest('hex').slice(0, 16)}`)
  await buildOnce(place, async (directory) => {
    cpSync(program, directory, { recursive: true })
    cpSync(page, join(directory, 'dist/web'), { recursive: true })
    cpSync(join(root, 'agents'), join(directory, 'agents'), { recursive: true })
    cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  })
  return join(place, 'bin/heddle')
}

/** In a process of its own: the tests' NODE_ENV would build React for development. */
async function buildInProduction(directory: string): Promise<void> {
  const program = 'const { buildWeb } = await import(process.argv[1]); await buildWeb(process.argv[2])'
  const args = ['--input-type=module', '--eval', program, join(root, 'scripts/web.ts'), directory]
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_ENV: 'production' } })
}
