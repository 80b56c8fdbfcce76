import { afterEach, describe, expect, test } from 'vitest'
import { type Narrator, startNarrator } from '../../src/engine/knowledge/narrator.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { forget } from '../../src/memory/forget.ts'
import { remember } from '../../src/memory/remember.ts'
import { listNarratives } from '../../src/store/knowledge/narratives.ts'
import { databases } from '../setup/places.ts'
import { newOffice, type Office } from './test-team.ts'

const never = new AbortController().signal
const label = { integrity: 'trusted' as const, sources: [] }
const news =
  'We move the orders to PostgreSQL in March because the reports are slow; Ada writes the scripts, Bela checks them.'

describe.each(databases)('a session that goes on after something was forgotten, on %s', (database) => {
  let office: Office
  let narrator: Narrator
  afterEach(async () => {
    await narrator.stop()
    await office.remove()
  })

  test('is told to the narrator with the name of a secret, also where a long message is cut within its value', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }), narrator: () => ({ text: 'told' }) })
    const { engine, folder } = office
    const mark = (text: string) => text.replaceAll('hunter2-correct-horse', '[secret:vault]')
    engine.markSecrets = <T>(value: T) => JSON.parse(mark(JSON.stringify(value)))
    narrator = startNarrator(engine, {
      submit: (input) => submit(engine, input),
      cancel: (runId, reason) => cancel(engine, runId, reason),
      onError: (error) => {
        throw error
      },
    })
    await office.ask(`${news.padEnd(1485, ' so on')} hunter2-correct-horse`)
    await narrator.whenIdle(folder, never)
    expect(JSON.stringify(office.requestsOf('narrator'))).toContain('so on')
    expect(JSON.stringify(office.requestsOf('narrator'))).not.toContain('hunter2')
  })

  test('is not told of where it may repeat that; another session is', async () => {
    office = await newOffice(database, {
      coordinator: (_, last) => ({
        text: last.includes('put it') ? 'I wrote 993311 into settings.yaml.' : 'The vault code is 993311.',
      }),
      narrator: (said) => ({ text: said.at(-1) ?? '' }),
    })
    const { engine, folder } = office
    narrator = startNarrator(engine, {
      submit: (input) => submit(engine, input),
      cancel: (runId, reason) => cancel(engine, runId, reason),
      onError: (error) => {
        throw error
      },
    })
    const told = async () => {
      await narrator.whenIdle(folder, never)
      return (await engine.store.read((rows) => listNarratives(rows, folder, 9))).map(({ summary }) => summary)
    }
    await engine.store.write('submit', (tx) =>
      remember(tx, { content: 'The vault code is 993311', source: 'user', label }, 1, 1000),
    )
    await office.ask('what is the vault code?')
    await engine.store.write('submit', (tx) => forget(tx, 1, 5))
    await office.ask(`put it into the settings. ${news}`)
    expect(await told()).toEqual([])
    await office.ask(`put it into the settings. ${news}`, { label: 'elsewhere' })
    expect(await told()).toEqual([expect.stringContaining('PostgreSQL')])
  })
})
