import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { bundle } from '../../scripts/bundle.ts'
import { sourceStack } from '../../src/cli/source-stack.ts'
import { node } from '../setup/node.ts'

const thrower = `interface Unseen {
  a: 1
}

export function fail(_: Unseen): Error {
  return new Error('x')
}
`

test('the stack of a bug in a build names the files and lines of the sources', async () => {
  const directory = join(inject('runFolder'), 'source-stack')
  mkdirSync(join(directory, 'src'), { recursive: true })
  writeFileSync(join(directory, 'src/thrower.ts'), thrower)
  await bundle({
    programs: { thrower: join(directory, 'src/thrower.ts') },
    directory: join(directory, 'dist'),
    shared: {},
  })
  // In a process of its own: here stacks are those of the sources anyway.
  const program = `import { fail } from '${join(directory, 'dist/thrower.js')}'
    import { sourceStack } from '${join(import.meta.dirname, '../../src/cli/source-stack.ts')}'
    const error = fail({ a: 1 })
    console.log(JSON.stringify([error.stack, sourceStack(error)]))`
  const [command, ...args] = node
  const { stdout } = spawnSync(command, [...args, '--input-type=module', '--eval', program], { encoding: 'utf8' })
  const [built, ofSources] = JSON.parse(stdout) as string[]
  expect(built).toContain('dist/thrower.js:')
  expect(ofSources).toMatch(/at fail \(.*src\/thrower\.ts:6:10\)/)
  expect(ofSources).not.toContain('dist/thrower.js:')
})

test('a stack without maps stays as it is', () => {
  const error = new Error('y')
  expect(sourceStack(error)).toBe(error.stack)
})
