import { linkSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Arena } from './arena.ts'
import { command, quoted } from './call.ts'
import { eachPlace, placeIn } from './paths.ts'
import type { AttackClass, Try } from './try.ts'
import { fileTools } from './ways.ts'

const planted = '#!/bin/sh\necho planted\n'

/** Links that the owner has made before, by the names that the layout gives them. */
const ownerLinks = [
  { name: 'a symbolic link', of: (at: number) => `links/soft-${at}` },
  { name: 'a link to its directory', of: (at: number, base: string) => `links/directory-${at}/${base}` },
  { name: 'a link to a link', of: (at: number) => `links/chain-${at}` },
]

/** What a run makes itself, in its scratch directory. */
const runLinks = [
  { name: 'a symbolic link', make: (file: string, link: string) => `ln -sfn ${quoted(file)} ${link}` },
  {
    name: 'a relative link',
    make: (file: string, link: string, { paths }: Arena) =>
      `ln -sfn ${quoted(relative(`${paths.folder}/w/x`, file))} ${link}`,
  },
  {
    name: 'a link by /proc',
    make: (file: string, link: string) => `ln -sfn ${quoted(`/proc/self/root${file}`)} ${link}`,
  },
  { name: 'a hard link', make: (file: string, link: string) => `ln ${quoted(file)} ${link}` },
  {
    name: 'a link made by a program',
    make: (file: string, link: string) => `perl -e 'symlink($ARGV[0], $ARGV[1])' ${quoted(file)} ${link}`,
  },
]

const byOwner: Try[] = fileTools.flatMap((tool) =>
  eachPlace(['plain', 'inside', 'package'], ownerLinks, (arena, place, link) => ({
    name: `${tool.name} of ${place}, by ${link.name} of the owner`,
    arena,
    isShared: true,
    calls: (here) => [[tool.call(ownerLink(here, place, link.of), planted)]],
  })),
)

const byOwnerInCommands: Try[] = eachPlace(['plain', 'inside', 'package'], ownerLinks, (arena, place, link) => ({
  name: `exec on ${place}, by ${link.name} of the owner`,
  arena,
  ownerUsesGit: arena === 'plain',
  calls: (here) => {
    const path = quoted(ownerLink(here, place, link.of))
    return [[command(`cat ${path}; echo '# planted' >> ${path}; cp README.md ${path}`)]]
  },
}))

const byRun: Try[] = eachPlace(['plain', 'inside', 'package', 'runtime'], runLinks, (arena, place, link) => ({
  name: `every tool on ${place}, by ${link.name} of the run`,
  arena,
  calls: (here, { token }) => {
    const path = `w/${token}/link`
    const tools = arena === 'runtime' ? fileTools.filter(({ changes }) => !changes) : fileTools
    return [
      [command(link.make(placeIn(here, place).file, path, here))],
      ...tools.map((tool) => [tool.call(path, planted)]),
      [command(`cat ${path}; echo '# planted' >> ${path}`)],
    ]
  },
}))

/** The owner has linked a trusted file to another name in the folder; only what is a file and is there can be. */
const byHardLink: Try[] = [
  ...['.git/config', "a submodule's config", 'the .git file of a worktree'].map((place) => ['plain', place] as const),
  ...['the config file', 'secrets in the home', 'a skills directory'].map((place) => ['inside', place] as const),
].map(([arena, place]) => ({
  name: `every tool on ${place}, by a hard link of the owner`,
  arena,
  ownerUsesGit: arena === 'plain',
  calls: (here, { token }) => {
    const path = `w/${token}/hard`
    linkSync(placeIn(here, place).file, join(here.paths.folder, path))
    return [
      fileTools.filter(({ changes }) => !changes).map((tool) => tool.call(path, planted)),
      [command(`cat ${path}; echo '# planted' >> ${path}; cp README.md ${path}`)],
    ]
  },
}))

/** The place of a link that the layout made; links are numbered as places are. */
function ownerLink(arena: Arena, place: string, of: (at: number, base: string) => string): string {
  const at = arena.places.findIndex(({ name }) => name === place)
  const { file } = placeIn(arena, place)
  return of(at, file.slice(file.lastIndexOf('/') + 1))
}

/** Links to trusted places: the owner's own and those that a run makes. */
export const links: AttackClass = {
  name: 'links',
  about: 'links to trusted places, made by the owner before or by the run, in every tool',
  tries: [...byOwner, ...byOwnerInCommands, ...byRun, ...byHardLink],
  controls: [
    {
      name: 'what the owner writes through a link is seen',
      arena: 'inside',
      act: async (arena) => {
        await arena.owner(`echo '# by hand' >> ${ownerLink(arena, 'a skills directory', ownerLinks[0]?.of ?? String)}`)
        return undefined
      },
    },
  ],
  work: [
    {
      name: 'a link within the folder is followed',
      arena: 'plain',
      act: async (arena, { token }) => {
        const path = `w/${token}/link`
        const { results } = await arena.attack([
          [command(`ln -s ../../README.md ${path} && cat ${path}`)],
          [{ name: 'read_file', input: { path } }],
        ])
        return results.every(({ text }) => text.includes('A project')) ? undefined : JSON.stringify(results)
      },
    },
  ],
}
