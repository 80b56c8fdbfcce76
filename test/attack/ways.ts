import { basename, dirname, join, relative } from 'node:path'
import { type Call, quoted } from './call.ts'
import type { Paths } from './ground.ts'
import type { TryContext } from './try.ts'
import type { Place } from './watch.ts'

/** A way to spell the path of a file, for tools that take paths. */
export interface Spelling {
  name: string
  of(file: string, paths: Paths): string
}

export const spellings: Spelling[] = [
  { name: 'relative', of: (file, { folder }) => relative(folder, file) },
  { name: 'absolute', of: (file) => file },
  { name: 'dot-dot', of: (file, { folder }) => `w/../${relative(folder, file)}` },
  { name: 'out and in again', of: (file, { folder }) => `../${basename(folder)}/${relative(folder, file)}` },
  { name: 'extra slashes', of: (file, { folder }) => `.//./${relative(folder, file).replaceAll('/', '//./')}` },
  { name: '/proc/self/root', of: (file) => `/proc/self/root${file}` },
  { name: '/proc/self/cwd', of: (file, { folder }) => `/proc/self/cwd/${relative(folder, file)}` },
  { name: '/dev/fd', of: (file, { folder }) => `/dev/fd/../cwd/${relative(folder, file)}` },
  { name: 'capital letters', of: (file, { folder }) => relative(folder, file).toUpperCase() },
  { name: 'a trailing dot', of: (file, { folder }) => `${relative(folder, file)}/.` },
  { name: 'a file URL', of: (file) => `file://${file}` },
  { name: 'percent signs', of: (file, { folder }) => relative(folder, file).replaceAll('.', '%2e') },
  { name: 'backslashes', of: (file, { folder }) => `w\\..\\${relative(folder, file).replaceAll('/', '\\')}` },
  {
    name: 'invisible letters',
    of: (file, { folder }) => relative(folder, file).replace(/(?<=\w)(?=\w)/, '\u200d'),
  },
]

/** The same path with steps in between that lead nowhere. */
export function noisy(path: string, { pick }: TryContext): string {
  const steps = ['', './', '/', 'w/../', './/', '././']
  const pieces = path.split('/')
  return pieces
    .map((piece, at) =>
      at === 0 || piece === '..' ? piece : `${steps[pick(steps.length)]?.replace('w/../', './')}${piece}`,
    )
    .join('/')
}

/** What a file tool would do to a path; `content` is what a changed file would hold. */
export const fileTools: { name: string; changes: boolean; call(path: string, content: string): Call }[] = [
  { name: 'read_file', changes: false, call: (path) => ({ name: 'read_file', input: { path } }) },
  {
    name: 'search_files',
    changes: false,
    call: (path) => ({ name: 'search_files', input: { path: dirname(path), pattern: 'secret-' } }),
  },
  { name: 'list_dir', changes: false, call: (path) => ({ name: 'list_dir', input: { path: dirname(path) } }) },
  {
    name: 'write_file',
    changes: true,
    call: (path, content) => ({ name: 'write_file', input: { path, content } }),
  },
  {
    name: 'edit_file',
    changes: true,
    call: (path, content) => ({ name: 'edit_file', input: { path, old_text: 'e', new_text: content, all: true } }),
  },
]

/** A way for a command to read or change a file. */
export interface CommandWay {
  name: string
  command(place: Place, paths: Paths, scratch: string): string
}

const q = quoted
/** The part of a path below the folder that comes first, or the place itself where it lies outside. */
function top(path: string, { folder }: Paths): string {
  const [first = ''] = relative(folder, path).split('/')
  return first === '..' ? path : join(folder, first)
}
const append = (file: string) => `echo '# planted' >> ${q(file)}`

export const commandWays: CommandWay[] = [
  { name: 'append', command: ({ file }) => append(file) },
  { name: 'read', command: ({ file }) => `cat ${q(file)}` },
  { name: 'read all there is', command: (_, { root }) => `grep -rao 'secret-[0-9a-f]*' ${q(root)} | head` },
  { name: 'truncate', command: ({ file }) => `: > ${q(file)}` },
  { name: 'remove', command: ({ file }) => `rm -f ${q(file)}` },
  { name: 'remove the directory', command: ({ file }) => `rm -rf ${q(dirname(file))}` },
  { name: 'dot-dot', command: ({ file }, { folder }) => append(`${folder}/w/../${relative(folder, file)}`) },
  {
    name: '/proc/self/root',
    command: ({ file }) => `cat /proc/self/root${q(file)}; ${append(`/proc/self/root${file}`)}`,
  },
  {
    name: '/proc/self/cwd',
    command: ({ file }, { folder }) =>
      `cat ${q(`/proc/self/cwd/${relative(folder, file)}`)}; ${append(`/proc/self/cwd/${relative(folder, file)}`)}`,
  },
  { name: '/proc/1/root', command: ({ file }) => `cat /proc/1/root${q(file)}; ${append(`/proc/1/root${file}`)}` },
  {
    name: 'a descriptor',
    command: ({ file }) => `exec 7<>${q(file)} && echo '# planted' >&7 && cat /proc/self/fd/7`,
  },
  {
    name: 'the parent directory of a descriptor',
    command: ({ file }) =>
      `exec 7<${q(dirname(file))} && cd /proc/self/fd/7 && cat ${q(basename(file))}; ${append(`/proc/self/fd/7/${basename(file)}`)}`,
  },
  {
    name: 'rename the file',
    command: ({ file }, _, scratch) => `mv ${q(file)} ${q(`${scratch}/f`)} && ${append(`${scratch}/f`)}`,
  },
  {
    name: 'replace the file by a rename',
    command: ({ file }, _, scratch) => `echo planted > ${q(`${scratch}/f`)} && mv -f ${q(`${scratch}/f`)} ${q(file)}`,
  },
  {
    name: 'rename the directory and make another',
    command: ({ file }, _, scratch) =>
      `mv ${q(dirname(file))} ${q(`${scratch}/d`)} && mkdir -p ${q(dirname(file))} && ${append(file)}`,
  },
  {
    name: 'rename the topmost directory and write below its new name',
    command: ({ file }, paths, scratch) => {
      const moved = `${scratch}/top/${relative(top(file, paths), file)}`
      return `mv ${q(top(file, paths))} ${q(`${scratch}/top`)} && cat ${q(moved)}; ${append(moved)}`
    },
  },
  {
    name: 'rename the topmost directory and put a copy in its place',
    command: ({ file }, paths, scratch) => {
      const at = top(file, paths)
      return `mv ${q(at)} ${q(`${scratch}/top`)} && cp -a ${q(`${scratch}/top`)} ${q(at)} && ${append(file)}`
    },
  },
  {
    name: 'a link in place of the directory',
    command: ({ file }, _, scratch) =>
      `mkdir -p ${q(`${scratch}/l`)} && ${append(`${scratch}/l/${basename(file)}`)}; rm -rf ${q(dirname(file))}; ln -sfn ${q(`${scratch}/l`)} ${q(dirname(file))}`,
  },
  {
    name: 'exchange two names',
    command: ({ file }, _, scratch) =>
      `mkdir -p ${q(`${scratch}/x`)} && perl -e 'exit(syscall(316, -100, $ARGV[0], -100, $ARGV[1], 2) < 0)' ${q(dirname(file))} ${q(`${scratch}/x`)}`,
  },
  {
    name: 'tar',
    command: ({ file }, _, scratch) =>
      `mkdir -p ${q(`${scratch}/t`)} && echo planted > ${q(`${scratch}/t/${basename(file)}`)} && tar -C ${q(`${scratch}/t`)} -cf ${q(`${scratch}/t.tar`)} . && tar -C ${q(dirname(file))} --overwrite -xf ${q(`${scratch}/t.tar`)}`,
  },
  {
    name: 'cp -a',
    command: ({ file }, _, scratch) =>
      `mkdir -p ${q(`${scratch}/c`)} && echo planted > ${q(`${scratch}/c/${basename(file)}`)} && cp -a ${q(`${scratch}/c/.`)} ${q(`${dirname(file)}/`)}`,
  },
  { name: 'sed -i', command: ({ file }) => `sed -i '1s/^/# planted /' ${q(file)}` },
  { name: 'dd', command: ({ file }) => `echo planted | dd of=${q(file)} conv=notrunc status=none` },
  { name: 'perl', command: ({ file }) => `perl -e 'open(F, ">>", $ARGV[0]) and print F "# planted"' ${q(file)}` },
  { name: 'chmod', command: ({ file, path }) => `chmod 777 ${q(file)} ${q(path)}` },
  { name: 'touch', command: ({ file }) => `touch ${q(file)}` },
  {
    name: 'a new file beside it',
    command: ({ path, file }) => `echo planted > ${q(`${path}/planted`)} || echo planted > ${q(`${file}/planted`)}`,
  },
  {
    name: 'a hard link',
    command: ({ file }, _, scratch) =>
      `ln ${q(file)} ${q(`${scratch}/h`)} && cat ${q(`${scratch}/h`)}; ${append(`${scratch}/h`)}`,
  },
  {
    name: 'a mount over it',
    command: ({ file }, _, scratch) => `mount --bind ${q(scratch)} ${q(dirname(file))} && ${append(file)}`,
  },
  {
    name: 'a mount taken away',
    command: ({ file, path }) =>
      `umount -l ${q(path)} ${q(dirname(file))}; mount -o remount,rw,bind ${q(path)}; ${append(file)}`,
  },
  {
    name: 'a namespace of its own',
    command: ({ file, path }) => `unshare -Urm sh -c ${q(`umount -l ${q(path)}; cat ${q(file)}; ${append(file)}`)}`,
  },
]
