import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { newFolder, type TestFolder } from './folder.ts'

const kills = inTurn([...Array(12).keys()], 3)

const folders: TestFolder[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove()
})

test('a process that is killed while it writes leaves a whole file, and nothing that the next to write there does not remove', async () => {
  const program = join(import.meta.dirname, 'write-program.ts')
  let left = 0
  for (const kill of kills) {
    // A new one each time: a process looks for what others left once a minute.
    const folder = newFolder({ 'sub/file': '0'.repeat(300_000) })
    folders.push(folder)
    const sub = join(folder.path, 'sub')
    const child = spawn(process.execPath, [program, folder.path], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    // At another step of a write each time.
    await nthChange(sub, kill + 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(readFileSync(join(sub, 'file'), 'utf8')).toMatch(/^(\d)\1{299999}$/)
    const beside = readdirSync(sub).filter((name) => name !== 'file')
    left += beside.length
    for (const name of beside) utimesSync(join(sub, name), new Date(1000), new Date(1000))
    await folder.call('write_file', { path: 'sub/file', content: '5'.repeat(300_000) })
    expect(readdirSync(sub)).toEqual(['file'])
  }
  console.log(`${kills.length} kills, ${left} of them in the middle of a write`)
})

/** Resolves when so many things have happened in a directory. */
async function nthChange(directory: string, count: number): Promise<void> {
  let seen = 0
  for await (const _ of watch(directory)) if (++seen === count) return
}
