import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { heddleWithModel } from './heddle-with-model.ts'

const heddle = heddleWithModel(() => ({ text: 'done' }))
beforeEach(() => {
  const config = join(heddle().home, 'heddle.yaml')
  const [, model = ''] = /main: (.*)\n/.exec(readFileSync(config, 'utf8')) ?? []
  appendFileSync(config, `  costly: ${model.replace('tiny', 'large')}\n  allow: [main]\n`)
})

const instead = 'instead of costly: it is not in models.allow'

test.each([
  ['the command line', ['-m', 'costly']],
  ['a persona', ['--persona', 'atlas']],
  ["an agent's file", ['--agent', 'writer']],
])('a model that is not allowed is told after the answer, in show and in ps, if %s names it', async (_, args) => {
  await heddle().run('personas', 'set', 'atlas', '--name', 'Atlas', '--model', 'costly')
  mkdirSync(join(heddle().home, 'agents'), { recursive: true })
  const head = 'name: writer\ndescription: writes\nmodel: costly'
  writeFileSync(join(heddle().home, 'agents', 'writer.md'), `---\n${head}\n---\nWrite.\n`)
  const asked = await heddle().run('ask', 'hello', ...args)
  expect({ code: asked.code, err: asked.err }).toMatchObject({ code: 0, err: expect.stringContaining(instead) })
  const { runs } = await heddle().json<{ runs: { id: string; model: object }[] }>('ps', '--all')
  const run = runs.find(({ model }) => 'clamped' in model)
  expect(run?.model).toMatchObject({ clamped: { from: 'costly', why: 'it is not in models.allow' } })
  const shown = await heddle().run('show', `run:${run?.id}`)
  expect(shown.out).toContain(instead)
  const { turnId } = await heddle().json<{ turnId: string }>('show', `run:${run?.id}`)
  expect((await heddle().run('show', `turn:${turnId}`)).out).toContain(instead)
})
