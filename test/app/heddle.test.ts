import { afterEach, beforeEach, expect, test } from 'vitest'
import { owner } from '../../src/domain/access/principal.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'

let heddle: TestApp
beforeEach(async () => {
  heddle = await openTestApp()
})
afterEach(() => heddle.remove())

test('without a token it is the owner who asks', async () => {
  expect(await heddle.identify(undefined)).toEqual(owner)
})

test('a token that belongs to nobody is refused', async () => {
  await expect(heddle.identify('hdl_nobody')).rejects.toMatchObject({ code: 'unknown_token', retry: 'never' })
})

test('an App has nothing that only the process itself can do', () => {
  const methods = Object.keys(heddle.as(owner))
  expect(['work', 'listen', 'close', 'as', 'identify'].filter((name) => methods.includes(name))).toEqual([])
})
