import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Part } from '../../src/domain/message.ts'
import { gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp } from '../../src/testing.ts'
import { newEngine, type TestEngine, testTool } from './engine.ts'

const picture: Part = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
const notes: Part = { type: 'file', path: 'notes.md', mediaType: 'text/markdown', data: 'IyBIaQ==' }

describe('what comes with an input', () => {
  let under: TestEngine | undefined
  afterEach(async () => {
    await under?.remove()
    under = undefined
  })

  test('reaches the model with it, now and in later turns, and what is stable is told', async () => {
    const model = scriptedModel(() => ({ text: 'seen' }))
    under = await newEngine('sqlite', model)
    await under.work()
    await under.say('what is this?', { parts: [picture, notes] })
    await under.turns(1)
    await under.say('and now?')
    await under.turns(2)
    const asked = { role: 'user', content: 'what is this?', parts: [picture, notes] }
    expect(model.requests.map(({ messages }) => messages)).toEqual([
      [asked],
      [asked, { role: 'assistant', content: 'seen', calls: [] }, { role: 'user', content: 'and now?' }],
    ])
    expect(model.requests.map(({ stablePrefix }) => stablePrefix)).toEqual([1, 3])
  })

  test('reaches a run that is under way, when it steers it', async () => {
    const held = gate()
    const model = scriptedModel((_, n) => (n === 1 ? { gate: held, calls: [{ name: 'look' }] } : { text: 'done' }))
    under = await newEngine('sqlite', model, { tools: [testTool('look', 'pure', () => 'x')] })
    await under.work()
    await under.say('go')
    await held.reached
    await under.say('use this', { kind: 'steer', parts: [notes] })
    held.open()
    await under.turns(1)
    expect(model.requests.at(-1)?.messages.at(-1)).toEqual({ role: 'user', content: 'use this', parts: [notes] })
    expect(model.requests.at(-1)?.stablePrefix).toBe(1)
  })
})

describe('what a model cannot be given is refused before it is taken in, with the reason', () => {
  async function refusal(part: Part, more: { sees?: boolean; readsPdf?: boolean } = {}) {
    const app = await openTestApp({ models: [scriptedModel(() => ({ text: 'a' }), { name: 'main', ...more })] })
    onTestFinished(() => app.remove())
    return app.submit('/here', { session: 'main', content: 'look', parts: [part] }).then(
      () => undefined,
      (error) => error.message,
    )
  }
  const pdf: Part = { type: 'file', path: 'a.pdf', mediaType: 'application/pdf', data: 'JVBERg==' }

  test.each<[string, Part, { sees?: boolean; readsPdf?: boolean }, string | undefined]>([
    ['a picture, to one that is blind', picture, {}, 'the model main cannot read images.'],
    ['a picture, to one that sees', picture, { sees: true }, undefined],
    ['a PDF, to one that only sees', pdf, { sees: true }, 'the model main cannot read PDF documents.'],
    ['a PDF, to one that reads it', pdf, { readsPdf: true }, undefined],
    ['a text file, to anybody', notes, {}, undefined],
    [
      'a kind of file that no model reads',
      { ...pdf, path: 'a.zip', mediaType: 'application/zip' },
      { sees: true },
      'a.zip is application/zip, and models read text, PDF, PNG, JPEG, GIF and WebP.',
    ],
    ['too much', { ...notes, data: 'A'.repeat(7 * 1024 * 1024) }, {}, 'notes.md is larger than 5 MB.'],
  ])('%s', async (_, part, more, why) => {
    expect(await refusal(part, more)).toBe(why)
  })
})
