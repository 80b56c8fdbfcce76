import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { folderFor, folderToWorkIn } from '../../src/home/folder.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-folder-')))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const userHome = join(place, 'ada')
const home = join(userHome, '.heddle')
const project = join(userHome, 'project')
const workspace = join(userHome, 'heddle-workspace')
for (const folder of [home, project, join(home, 'skills'), `${home}-notes`]) mkdirSync(folder, { recursive: true })
symlinkSync(userHome, join(place, 'link'))

const places = { userHome, home, workspace }

test('a session belongs to the working directory', async () => {
  expect(await folderFor(project, places)).toBe(project)
  expect(await folderFor(`${home}-notes`, places)).toBe(`${home}-notes`)
})

test('the working directory is known by its real path', async () => {
  expect(await folderFor(join(place, 'link', 'project'), places)).toBe(project)
})

test.each([
  ['the home folder of the user', userHome],
  ['a link to it', join(place, 'link')],
  ['a folder that holds it', place],
  ['the root folder', '/'],
  ['a folder of the system', '/proc/self'],
  ['the home of heddle', home],
  ['a folder inside it', join(home, 'skills')],
  ['a link into it', join(place, 'link', '.heddle', 'skills')],
])('in %s the workspace is used, whether it is there yet or not', async (_, cwd) => {
  expect(await folderFor(cwd, places)).toBe(workspace)
  expect(await folderFor(cwd, { ...places, workspace: join(place, 'link', 'project', 'new') })).toBe(
    join(project, 'new'),
  )
})

test('a home that is not there yet, or is reached by a link, is recognised', async () => {
  const later = { ...places, home: join(place, 'link', 'later') }
  expect(await folderFor(project, later)).toBe(project)
  mkdirSync(join(userHome, 'later'))
  expect(await folderFor(join(userHome, 'later'), later)).toBe(workspace)
})

test.each([home, join(home, 'work'), userHome, '/'])(
  'the workspace %s, where agents could reach the configuration, is refused',
  async (unsafe) => {
    await expect(folderFor('/', { ...places, workspace: unsafe })).rejects.toMatchObject({
      code: 'workspace_unsafe',
      remedy: expect.stringContaining('config set workspace'),
    })
  },
)

test('a path of the kernel is no folder to work in, although it leads to the working directory of this process', () => {
  const own = { userHome: '/nowhere', home: '/nowhere/.heddle' }
  expect(folderToWorkIn(process.cwd(), own)).toBe(process.cwd())
  for (const path of ['/proc/self/cwd', '/dev/../proc/self/cwd/.'])
    expect(() => folderToWorkIn(path, own)).toThrow('is a folder of the system')
})

test('a folder that is made later has the real path of what is there; below a file, or in a loop of links, there is none', () => {
  expect(folderToWorkIn(join(place, 'link', 'project', 'new'), places)).toBe(join(project, 'new'))
  expect(folderToWorkIn(join(place, 'link', 'project', 'new', 'er'), places)).toBe(join(project, 'new', 'er'))
  writeFileSync(join(place, 'file'), '')
  symlinkSync('loop', join(place, 'loop'))
  expect(() => folderToWorkIn(join(place, 'file', 'new'), places)).toThrow('cannot be reached (ENOTDIR)')
  expect(() => folderToWorkIn(join(place, 'loop'), places)).toThrow('cannot be reached (ELOOP)')
})
