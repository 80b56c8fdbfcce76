import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { node } from './node.ts'
import { testAsRoot } from './root.ts'

testAsRoot(
  'a program starts again with a temporary folder in memory that only it sees, its words and its exit code',
  () => {
    const disk = mkdtempSync('/var/tmp/heddle-disk-')
    onTestFinished(() => rmSync(disk, { recursive: true }))
    const program = `
    import { restartInMemory } from ${JSON.stringify(join(import.meta.dirname, 'in-memory.ts'))}
    import { mkdtempSync, readdirSync } from 'node:fs'
    import { tmpdir } from 'node:os'
    restartInMemory(0)
    mkdtempSync(tmpdir() + '/made-')
    console.log(JSON.stringify([process.pid, tmpdir(), process.argv.slice(1), readdirSync(tmpdir()).length]))
    process.exit(7)`
    const [command, ...options] = node
    const words = [...options, '--input-type=module', '--eval', program, 'one word', '--two']
    const { pid, status, stdout, stderr } = spawnSync(command, words, {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: disk },
    })
    const folder = join(disk, 'heddle')
    expect({ status, stderr }).toEqual({ status: 7, stderr: '' })
    expect(JSON.parse(stdout)).toEqual([pid, folder, ['one word', '--two'], 1])
    expect(readdirSync(folder)).toEqual([])
  },
)
