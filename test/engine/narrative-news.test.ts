import { afterEach, describe, expect, test } from 'vitest'
import { findNews } from '../../src/engine/knowledge/narrative-news.ts'
import { resolveSession } from '../../src/engine/turns/route.ts'
import { databases } from '../setup/places.ts'
import { newOffice, type Office } from './test-team.ts'

const long =
  'We move the orders to PostgreSQL in March because the reports are slow; Ada writes the scripts, Bela checks them.'

describe.each(databases)('what is new in a session on %s', (database) => {
  let office: Office
  afterEach(() => office.remove())

  test('is all that was said by the time its request is at rest, also after the session was looked up', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'Noted.' }) })
    await office.ask(long)
    const session = await office.engine.store.read((rows) => resolveSession(rows, 'main', office.folder))
    const { turnId } = await office.ask('Carla pays for it')
    const news = await office.engine.store.read((rows) => findNews(rows, session))
    expect(news).toMatchObject({ turnId, text: expect.stringContaining('Carla pays for it') })
  })
})
