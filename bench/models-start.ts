import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Figure, figure, type Goal, measurePairs, ratio } from './figures.ts'
import type { Scratch } from './scratch.ts'

const root = join(import.meta.dirname, '..')
const rounds = { pairs: 25, warmUp: 3 }

/** How long commands of the built package take, against a Node that does nothing. */
export async function measureStart(scratch: Scratch): Promise<Figure[]> {
  scratch.say('building the package')
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`the package does not build:\n${built.stdout}${built.stderr}`)
  const place = join(scratch.directory, 'package')
  for (const part of ['bin', 'dist', 'package.json']) cpSync(join(root, part), join(place, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  const folder = join(place, 'folder')
  mkdirSync(folder)
  const run = (home: string, temporary: string, ...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, args, {
      cwd: folder,
      input: '',
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: place, HEDDLE_HOME: home, TMPDIR: temporary },
    })
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
  }
  const heddle = join(place, 'bin/heddle')
  const home = join(place, 'home')
  const nothing = () => run(home, place, '-e', '0')
  const against = async (name: string, goal: Goal, ...args: string[]) => {
    scratch.say(name)
    const pairs = await measurePairs({ ours: () => run(home, place, heddle, ...args), floor: nothing }, rounds)
    return ratio(name, goal, pairs, [name, 'node -e 0'], 'each a process of its own, compiled code kept')
  }
  const question = 'survey this folder'
  const first: number[] = []
  for (let time = 0; time < 5; time++) {
    const fresh = join(place, `fresh-${time}`)
    mkdirSync(fresh)
    const began = performance.now()
    run(join(fresh, 'home'), fresh, heddle, 'ask', question)
    first.push(performance.now() - began)
    rmSync(fresh, { recursive: true })
  }
  return [
    await against('heddle --version', { atMost: 1.5 }, '--version'),
    await against('heddle ask with rehearsal, no daemon', { atMost: 8 }, 'ask', question),
    await against('heddle status, no daemon', { atMost: 4 }, 'status'),
    figure('the very first ask', 'ms', null, first, 'a home is made, nothing compiled before; 5 homes'),
  ]
}
