import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everythingTold, type TalkingHome, talkingHome, textOf } from './talking-home.ts'

const secret = '993311'
const withheld = '(withheld: it may repeat a memory that was forgotten)'

describe.each(databases)('what was forgotten, on %s', (database) => {
  const test = testOn(database)
  let home: TalkingHome
  afterEach(() => home.remove())

  test('is in no list, view, search, export, explanation or event, nor are summaries that may repeat it', async () => {
    home = await talkingHome(database)
    const { app, folder, ask, requests } = home
    await app.remember({ content: `The vault code is ${secret}`, tags: ['vault'] })
    await app.remember({ content: `Code of the vault: ${secret}` })
    await ask('vault', { summary: `The vault code is ${secret}.`, topic: 'vault' })
    await ask('b', { summary: `Still ${secret}.` })
    await ask('c', { summary: 'All is well.', topic: 'other' })
    expect(JSON.stringify(await app.narratives({ limit: 9 }))).toContain(secret)

    const result = await app.forgetMemory(1)
    expect(result).toMatchObject({ narratives: [1, 2, 3], near: [{ id: 2 }] })
    expect((await app.forgetMemory(2)).near).toEqual([])

    const names = ['memory:1', 'memory:2', 'narrative:1', 'narrative:2', 'narrative:3']
    const told = { ...(await everythingTold(home, `vault code ${secret}`, names)), again: await ask('d') }
    expect(told.narratives.map(({ id, summary, withheld: isWithheld }) => ({ id, summary, isWithheld }))).toEqual(
      [3, 2, 1].map((id) => ({ id, summary: withheld, isWithheld: true })),
    )
    for (const [door, answer] of Object.entries(told)) expect(JSON.stringify(answer), door).not.toContain(secret)
    const last = requests.at(-1)
    expect(JSON.stringify([last?.system, last?.note, last?.messages])).not.toContain(secret)
    // What a turn said stays, and so does the session that goes on from it.
    expect(await textOf(app.exportTurns(folder, 'vault'))).toContain(secret)
  })

  test('stays so behind a backup and its restore, behind export and import, and in summaries written since', async () => {
    home = await talkingHome(database)
    const told = () => everythingTold(home, `vault code ${secret}`, ['memory:1', 'narrative:1', 'narrative:2'])
    await home.app.remember({ content: `The vault code is ${secret}`, tags: ['vault'] })
    await home.app.remember({ content: 'Bread is baked at night' })
    await home.ask('vault', { summary: `The vault code is ${secret}.`, topic: 'vault' })
    await home.ask('b', { summary: `Still ${secret}.` })
    await home.app.forgetMemory(1)
    // An export names its database, and a restored one is another.
    const { exported: _, events: __, ...before } = await told()

    await home.restore()
    expect(await told()).toMatchObject(before)
    const exported = await textOf(home.app.exportMemories({ all: true }))
    await home.app.importMemories(exported, { name: 'all.md', trust: true })
    await home.ask('vault', { summary: `As ever: ${secret}.`, topic: 'vault' })
    await home.restore()
    const after = await told()
    const answers = { ...after, again: await home.ask('c') }
    for (const [door, answer] of Object.entries(answers)) expect(JSON.stringify(answer), door).not.toContain(secret)
    expect(after.narratives.map(({ summary }) => summary)).toEqual([withheld, withheld, withheld])
    expect(after.memories).toMatchObject([{ id: 2, content: 'Bread is baked at night' }])
    const last = home.requests.at(-1)
    expect(JSON.stringify([last?.system, last?.note, last?.messages])).not.toContain(secret)
  })

  test('is in no summary that says it without having been shown it, nor in one that goes on from that', async () => {
    home = await talkingHome(database)
    const { app, ask } = home
    const talk = [
      'Ada was here.',
      `Ada set the vault code to ${secret} and told Bela.`,
      `We changed the vault. Its code is ${secret}.`,
      'All is well.',
    ]
    await ask('bread', { summary: 'The vault of the bakery has a new door. There is a code of conduct.' })
    for (const [at, summary] of talk.entries()) await ask(`s${at}`, { summary, topic: `s${at}` })
    await app.remember({ content: `The vault code is ${secret}` })
    expect((await app.forgetMemory(1)).narratives).toEqual([3, 4, 5])
    const told = await app.narratives({ limit: 9 })
    expect(told.map(({ summary }) => summary)).toEqual([
      ...[withheld, withheld, withheld, 'Ada was here.'],
      'The vault of the bakery has a new door. There is a code of conduct.',
    ])
  })

  test('is in no summary that says it of the user with its one telling word, and is named where others say it', async () => {
    home = await talkingHome(database)
    const { app, ask, folder } = home
    const talk = [
      'Bela wrote an article on diabetes.',
      'I have diabetes and next Friday my parents come for dinner.',
      'A menu was planned. The user has diabetes.',
    ]
    for (const [at, summary] of talk.entries()) await ask(`s${at}`, { summary, topic: `s${at}` })
    writeFileSync(join(folder, 'home', 'USER.md'), 'Likes tea.\n\nDiabetes type 2, since May.\n')
    await app.remember({ content: 'I have diabetes' })
    await app.remember({ content: 'The user has diabetes, and plans menus that are low in sugar' })
    const { narratives, near, notes } = await app.forgetMemory(1)
    expect({ narratives, near: near.map(({ id }) => id), notes }).toEqual({
      narratives: [2, 3],
      near: [2],
      notes: [{ path: 'USER.md', line: 3, text: 'Diabetes type 2, since May.' }],
    })
    const told = await app.narratives({ limit: 9 })
    expect(told.map(({ summary }) => summary)).toEqual([withheld, withheld, 'Bela wrote an article on diabetes.'])
  })

  test('is named where a longer memory says it among other things, or has its value in other words', async () => {
    home = await talkingHome(database)
    const { app, ask } = home
    await app.remember({ content: `The vault code is ${secret}` })
    const minutes =
      'Minutes of Tuesday: the bakery gets a door and a lamp, Ada paints the hall, Bela orders flour for May.'
    await app.remember({ content: `${minutes} The vault code is ${secret}.` })
    await app.remember({ content: `Der Tresor geht mit ${secret} auf` })
    await app.remember({ content: minutes })
    await ask('safe', { summary: `Ada opens the safe with ${secret}.` })
    const { near, narratives } = await app.forgetMemory(1)
    expect(near.map(({ id }) => id).sort()).toEqual([2, 3])
    expect(narratives).toEqual([1])
  })

  test('is named where a note of the home still says it', async () => {
    home = await talkingHome(database)
    const { app, folder } = home
    writeFileSync(
      join(folder, 'home', 'USER.md'),
      `# House\n\nFor guests: the code of the vault is ${secret}, ask Ada.\n\nThe vault is in the cellar.\n`,
    )
    await app.remember({ content: `The vault code is ${secret}` })
    await app.remember({ content: 'Bread is baked at night' })
    expect((await app.forgetMemory(1)).notes).toEqual([
      { path: 'USER.md', line: 3, text: `For guests: the code of the vault is ${secret}, ask Ada.` },
    ])
    expect((await app.forgetMemory(2)).notes).toEqual([])
  })

  test('does not hide a summary that rests on something else', async () => {
    home = await talkingHome(database)
    const { app, ask } = home
    await app.remember({ content: `The vault code is ${secret}` })
    await app.remember({ content: 'Bread is baked at night' })
    await ask('bread', { summary: 'The bakery is busy [id:2].' })
    await app.forgetMemory(1)
    expect(await app.narratives({ limit: 9 })).toMatchObject([{ id: 1, summary: 'The bakery is busy [id:2].' }])
  })
})
