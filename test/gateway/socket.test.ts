import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findDaemon } from '../../src/gateway/client.ts'
import { findSocket, placeSocket, socketName } from '../../src/gateway/socket-place.ts'
import { runtimeFolder } from '../../src/home/socket-folder.ts'
import { systemClock } from '../../src/system.ts'
import { newGateway } from './gateway.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-socket-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the socket is private from the moment it can be found, and gone when the server is', async () => {
  const gateway = await newGateway([])
  const found = lstatSync(socketName(gateway.runFolder))
  expect({ isSocket: found.isSocket(), mode: found.mode & 0o777 }).toEqual({ isSocket: true, mode: 0o600 })
  expect(await findDaemon(gateway.runFolder, { clock: systemClock })).toMatchObject({
    health: { ok: true, pid: process.pid },
  })
  await gateway.server.stop()
  expect(readdirSync(gateway.runFolder).filter((name) => name.includes('sock') || name.startsWith('.'))).toEqual([])
  expect(await findDaemon(gateway.runFolder, { clock: systemClock })).toBe(undefined)
  await gateway.remove().catch(() => undefined)
})

test('in a home whose path is too long for a socket it is in the directory private to the user, and found all the same', async () => {
  const runtime = mkdtempSync(join(tmpdir(), 'heddle-xdg-'))
  const otherFolder = runtimeFolder(join(folder, 'run'), { XDG_RUNTIME_DIR: runtime })
  const gateway = await newGateway([], { home: 'h'.repeat(120), fallbackFolder: otherFolder })
  expect(gateway.server.path.startsWith(runtime)).toBe(true)
  expect(gateway.server.path.length).toBeLessThan(100)
  const found = lstatSync(gateway.server.path)
  expect(found.mode & 0o777).toBe(0o600)
  expect(await findDaemon(gateway.runFolder, { clock: systemClock })).toMatchObject({ place: gateway.server.path })
  const { path } = gateway.server
  await gateway.remove()
  expect(existsSync(path) || existsSync(join(path, '..'))).toBe(false)
  rmSync(runtime, { recursive: true })
})

test('without such a directory, or where others can write to it, no socket is made, and the remedy is told', async () => {
  const long = join(folder, 'h'.repeat(120))
  mkdirSync(long)
  const bind = () => Promise.reject(new Error('bound'))
  const refused = { code: 'socket_unsafe', remedy: expect.stringContaining('--home DIR') }
  await expect(placeSocket({ runFolder: long }, bind)).rejects.toMatchObject(refused)
  const shared = mkdtempSync(join(tmpdir(), 'heddle-xdg-'))
  chmodSync(shared, 0o777)
  const otherFolder = runtimeFolder(long, { XDG_RUNTIME_DIR: shared })
  await expect(placeSocket({ runFolder: long, fallbackFolder: otherFolder }, bind)).rejects.toMatchObject(refused)
  rmSync(shared, { recursive: true })
})

test('a socket in a directory that others can write to is not asked anything', async () => {
  const shared = mkdtempSync(join(tmpdir(), 'heddle-shared-'))
  chmodSync(shared, 0o777)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(shared, 's'), resolve))
  symlinkSync(join(shared, 's'), socketName(folder))
  expect(findSocket(folder)).toBe(undefined)
  rmSync(socketName(folder))
  server.close()
  rmSync(shared, { recursive: true })
})

test('what a dead daemon left is replaced', async () => {
  const dead = createServer()
  await new Promise<void>((resolve) => dead.listen(join(folder, 'bound'), resolve))
  // Closing would remove it; moving it away first leaves what a kill leaves.
  const { renameSync } = await import('node:fs')
  renameSync(join(folder, 'bound'), socketName(folder))
  dead.close()
  expect(findSocket(folder)).toBe(socketName(folder))
  expect(await findDaemon(folder, { clock: systemClock })).toBe(undefined)
  const server = createServer()
  const placed = await placeSocket(
    { runFolder: folder },
    (path) => new Promise((resolve) => server.listen(path, () => resolve())),
  )
  expect(readdirSync(folder)).toEqual(['heddle.sock'])
  placed.remove()
  server.close()
  expect(readdirSync(folder)).toEqual([])
})

test('something that is no socket is not asked anything', async () => {
  writeFileSync(socketName(folder), 'not a socket')
  expect(findSocket(folder)).toBe(undefined)
  rmSync(socketName(folder))
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), socketName(folder))
  expect(findSocket(folder)).toBe(undefined)
})
