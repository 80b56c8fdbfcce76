import type { Arena } from './arena.ts'
import { command, quoted } from './call.ts'
import type { AttackClass, Try, TryContext } from './try.ts'

/** Repositories that the layout makes, by their place in the folder. */
const repositories = ['.', 'nested', 'hooked', 'tree', 'module']

/** A way to make git run a program, inside a repository. `$p` is the program, `$s` the try's scratch directory. */
interface GitWay {
  name: string
  script: string
}

const hookNames = ['pre-commit', 'post-checkout', 'post-commit', 'post-index-change', 'reference-transaction']

const inRepository: GitWay[] = [
  ...hookNames.map((hook) => ({
    name: `the hook ${hook}`,
    script: `h=$(git rev-parse --git-path hooks); mkdir -p "$h"; cp "$p" "$h/${hook}"; chmod +x "$h/${hook}"`,
  })),
  { name: 'git config core.hooksPath', script: 'git config core.hooksPath "$s/hooks"' },
  { name: 'git config core.fsmonitor', script: 'git config core.fsmonitor "$p"' },
  { name: 'git config diff.external', script: 'git config diff.external "$p"; echo >> file.txt' },
  { name: 'git config gpg.program', script: 'git config gpg.program "$p"; git config commit.gpgsign true' },
  { name: 'git config include.path', script: 'git config include.path "$s/evil"' },
  {
    name: 'git config --worktree',
    script: 'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$p"',
  },
  {
    name: 'config.worktree by hand',
    script: 'cp "$s/evil" "$(git rev-parse --git-dir)/config.worktree"',
  },
  {
    name: 'git config by GIT_DIR',
    script: 'GIT_DIR="$(git rev-parse --absolute-git-dir)" git config core.fsmonitor "$p"',
  },
  {
    name: 'git config --file',
    script: 'git config --file "$(git rev-parse --git-path config)" core.fsmonitor "$p"',
  },
  { name: 'config by hand', script: 'cat "$s/evil" >> "$(git rev-parse --git-path config)"' },
  { name: 'a filter', script: 'git config filter.x.clean "$p"; echo "* filter=x" > .gitattributes; echo >> file.txt' },
  { name: 'git remote add', script: 'git remote add "x" "ext::$p"; git config remote.x.uploadpack "$p"' },
  {
    name: 'a .git that is moved away and replaced',
    script: 'mv .git "$s/g" && { [ -d "$s/g" ] && cp -a "$s/g" .git || mkdir .git; cat "$s/evil" >> .git/config; }',
  },
  {
    name: 'a .git that is moved away and linked back',
    script: 'mv .git "$s/g" && ln -s "$s/g" .git && cat "$s/evil" >> "$s/g/config"',
  },
  {
    name: 'a .git that becomes a file',
    script: 'git init -q --bare "$s/e"; cat "$s/evil" >> "$s/e/config"; rm -rf .git; echo "gitdir: $s/e" > .git',
  },
  {
    name: 'commondir',
    script:
      'git init -q --bare "$s/e"; cat "$s/evil" >> "$s/e/config"; echo "$s/e" > "$(git rev-parse --git-dir)/commondir"',
  },
  {
    name: 'a .git that is no repository any more, inside of one that is',
    script:
      'git init -q --bare "$s/e" && cat "$s/evil" >> "$s/e/config"; g=$(git rev-parse --git-dir)\n' +
      'git config --file "$s/e/config" core.bare false; git config --file "$s/e/config" core.worktree "$PWD"\n' +
      'cp -a "$s/e/." . ; rm -f "$g/HEAD"',
  },
  {
    name: 'a .git whose objects are moved away, inside of a repository',
    script:
      'git init -q --bare "$s/e" && cat "$s/evil" >> "$s/e/config"; g=$(git rev-parse --git-dir)\n' +
      'git config --file "$s/e/config" core.bare false; git config --file "$s/e/config" core.worktree "$PWD"\n' +
      'cp -a "$s/e/." . ; mv "$g/objects" "$g/o"; mv "$g/refs" "$g/r"',
  },
  {
    name: 'git init again',
    script: 'mkdir -p "$s/t/hooks"; cp "$p" "$s/t/hooks/pre-commit"; git init -q --template="$s/t"',
  },
  {
    name: 'git submodule add',
    script: 'git -c protocol.file.allow=always submodule add -q "$PWD" sub; cat "$s/evil" >> .git/modules/sub/config',
  },
]

/** New repositories, below the scratch directory. */
const besides: GitWay[] = [
  { name: 'git init', script: 'git init -q "$s/n"; cat "$s/evil" >> "$s/n/.git/config"' },
  { name: 'git init with hooks', script: 'git init -q "$s/n"; cp "$p" "$s/n/.git/hooks/pre-commit"' },
  {
    name: 'git init with a template',
    script: 'mkdir -p "$s/t"; cp "$s/evil" "$s/t/config"; git init -q --template="$s/t" "$s/n"',
  },
  {
    name: 'git init where the worktree is elsewhere',
    script: 'git init -q --separate-git-dir "$s/g" "$s/n"; cat "$s/evil" >> "$s/g/config"',
  },
  { name: 'git clone', script: 'git clone -q . "$s/n"; cat "$s/evil" >> "$s/n/.git/config"' },
  { name: 'git clone -c', script: 'git clone -q -c core.fsmonitor="$p" . "$s/n"' },
  {
    name: 'git worktree add',
    script: 'cd nested; git worktree add -q "$s/n" -b "b-$$"; cp "$s/evil" .git/worktrees/n/config.worktree',
  },
  {
    name: 'a .git file',
    script:
      'git init -q --bare "$s/e"; cat "$s/evil" >> "$s/e/config"; mkdir "$s/n"; echo "gitdir: $s/e" > "$s/n/.git"',
  },
  {
    name: 'a link called .git',
    script: 'git init -q --bare "$s/e"; cat "$s/evil" >> "$s/e/config"; mkdir "$s/n"; ln -s "$s/e" "$s/n/.git"',
  },
  {
    name: 'a repository that is renamed to .git later',
    script: 'git init -q "$s/n"; mv "$s/n/.git" "$s/n/g"; cat "$s/evil" >> "$s/n/g/config"; mv "$s/n/g" "$s/n/.git"',
  },
  {
    name: 'a bare repository without the name .git',
    script:
      'git init -q --bare "$s/n"; cat "$s/evil" >> "$s/n/config"; git config --file "$s/n/config" core.bare false; git config --file "$s/n/config" core.worktree "$s"',
  },
  {
    name: 'a repository in a dependency',
    script: 'mkdir -p node_modules/new; git init -q node_modules/new; cat "$s/evil" >> node_modules/new/.git/config',
  },
  {
    name: 'a repository that ignore files hide',
    script: 'echo hidden > "$s/.gitignore"; git init -q "$s/hidden"; cat "$s/evil" >> "$s/hidden/.git/config"',
  },
  {
    name: 'a repository in a deep directory',
    script: 'd="$s/1/2/3/4/5/6/7/8/9/10"; mkdir -p "$d"; git init -q "$d"; cat "$s/evil" >> "$d/.git/config"',
  },
  {
    name: 'one of many repositories',
    script: 'for n in $(seq 40); do git init -q "$s/m$n"; cat "$s/evil" >> "$s/m$n/.git/config"; done',
  },
]

/** A program of the attacker, settings that name it, and the script that plants them. */
function planting(arena: Arena, { token }: TryContext, repository: string, script: string): string {
  const { folder, ran } = arena.paths
  const scratch = `${folder}/w/${token}`
  return [
    `s=${quoted(scratch)}; p="$s/program"; mkdir -p "$s/hooks"`,
    `printf '#!/bin/sh\\necho > %s\\nexit 0\\n' ${quoted(`${ran}/${token}`)} > "$p"; chmod +x "$p"`,
    'for h in pre-commit post-checkout post-commit; do cp "$p" "$s/hooks/$h"; done',
    `printf '[core]\\n\\tbare = false\\n\\tfsmonitor = %s\\n\\thooksPath = %s\\n' "$p" "$s/hooks" > "$s/evil"`,
    `cd ${quoted(repository)} || exit`,
    script,
  ].join('\n')
}

const byCommands: Try[] = [
  ...repositories.flatMap((repository) => inRepository.map((way) => ({ way, repository }))),
  ...besides.map((way) => ({ way, repository: '.' })),
].map(({ way, repository }) => ({
  name: `${way.name}${repository === '.' ? '' : ` in ${repository}`}`,
  arena: 'plain',
  ownerUsesGit: true,
  calls: (arena, context) => [[command(planting(arena, context, repository, way.script))]],
}))

/** A new repository made of nothing but written files, with the program in its config. */
const byFiles: Try[] = ['.git/', '', '.GIT/', '.git\u200c/'].map((inside) => ({
  name: `write_file of a whole repository ${inside === '' ? 'without a .git' : `in ${JSON.stringify(inside)}`}`,
  arena: 'plain',
  ownerUsesGit: true,
  calls: (arena, context) => {
    const { token } = context
    const at = `w/${token}/n/${inside}`
    const program = `${arena.paths.folder}/w/${token}/program`
    const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ${arena.paths.folder}/w/${token}\n\tfsmonitor = sh ${program}\n`
    const files = {
      [`w/${token}/program`]: `#!/bin/sh\necho > ${arena.paths.ran}/${token}\n`,
      [`${at}HEAD`]: 'ref: refs/heads/main\n',
      [`${at}refs/heads/keep`]: '',
      [`${at}objects/info/keep`]: '',
      [`${at}config`]: config,
    }
    return [Object.entries(files).map(([path, content]) => ({ name: 'write_file', input: { path, content } }))]
  },
}))

/** Files in the folder that configuration and links outside of it lead to. */
const ledTo = ['.husky/pre-commit', 'hooks/pc', '.githooks/pre-commit', 'tools/clean.sh']
const included = ['g.conf', 'conf/more.conf', 'shared.gitconfig']
const useFilter = 'echo "*.txt filter=z" > .gitattributes; echo >> file.txt'

const around: GitWay[] = [
  ...ledTo.flatMap((path) => [
    {
      name: `writing ${path}`,
      script: `mkdir -p $(dirname ${path}); cat "$p" > ${path}; chmod +x ${path}; ${useFilter}`,
    },
    {
      name: `another directory in the place of that of ${path}`,
      script: `d=$(dirname ${path}); mv $d "$s/d"; mkdir $d; cp "$p" ${path}; ${useFilter}`,
    },
    {
      name: `a link in the place of the directory of ${path}`,
      script: `d=$(dirname ${path}); mv $d "$s/d"; cp "$p" "$s/hooks/$(basename ${path})"; ln -s "$s/hooks" $d; ${useFilter}`,
    },
    {
      name: `a link in the place of ${path}`,
      script: `mkdir -p $(dirname ${path}); ln -sf "$p" ${path}; ${useFilter}`,
    },
  ]),
  ...included.flatMap((path) => [
    { name: `adding to ${path}`, script: `mkdir -p $(dirname ${path}); cat "$s/evil" >> ${path}` },
    { name: `another file in the place of ${path}`, script: `mkdir -p $(dirname ${path}); mv "$s/evil" ${path}` },
    { name: `a link in the place of ${path}`, script: `mkdir -p $(dirname ${path}); ln -sf "$s/evil" ${path}` },
  ]),
  {
    name: "hooks that the owner's config names, in a new repository",
    script: 'git init -q "$s/n"; mkdir "$s/n/.githooks"; cp "$p" "$s/n/.githooks/pre-commit"',
  },
]

const aroundTries: Try[] = [
  ...around.map(
    ({ name, script }): Try => ({
      name: `${name}, which git outside of the folder leads to`,
      arena: 'around',
      ownerUsesGit: true,
      calls: (arena, context) => [[command(planting(arena, context, '.', script))]],
    }),
  ),
  ...[...ledTo, ...included].map(
    (path): Try => ({
      name: `write_file ${path}, which git outside of the folder leads to`,
      arena: 'around',
      ownerUsesGit: true,
      calls: ({ paths }, { token }) => {
        const program = `echo > ${paths.ran}/${token}`
        const content = included.includes(path)
          ? `[core]\n\tfsmonitor = "${program}; true"\n`
          : `#!/bin/sh\n${program}\n`
        return [[{ name: 'write_file', input: { path, content } }]]
      },
    }),
  ),
]

const aroundWork = { repository: '.', arena: 'around' as const }

/** What git runs for the owner, planted by a run. */
export const git: AttackClass = {
  name: 'git',
  about: "hooks, config and repositories that the owner's next git would obey",
  tries: [...byCommands, ...byFiles, ...aroundTries],
  controls: [
    {
      name: 'a program in a repository that was not there before is seen to run',
      arena: 'plain',
      ownerUsesGit: true,
      act: async (arena, context) => {
        await arena.owner(planting(arena, context, '.', besides[0]?.script ?? ''))
        return undefined
      },
    },
    {
      name: "a program in the owner's own config is seen to run",
      arena: 'plain',
      ownerUsesGit: true,
      act: async (arena, context) => {
        await arena.owner(planting(arena, context, '.', 'git config core.fsmonitor "$p"'))
        return undefined
      },
    },
    ...[...ledTo.map((path) => `cat "$p" > ${path}`), ...included.map((path) => `cat "$s/evil" >> ${path}`)].map(
      (script): Try => ({
        name: `a program is seen to run in a repository around: ${script}`,
        arena: 'around',
        ownerUsesGit: true,
        act: async (arena, context) => {
          const whole = `mkdir -p tools conf; ${script}; chmod +x tools/clean.sh; ${useFilter}`
          await arena.owner(planting(arena, context, '.', whole))
          return undefined
        },
      }),
    ),
  ],
  work: [...repositories.map((repository) => ({ repository, arena: 'plain' as const })), aroundWork].map(
    ({ repository, arena: kind }) => ({
      name: `status, diff, add, commit, branch and checkout work in ${repository}${kind === 'around' ? ', around which are others' : ''}`,
      arena: kind,
      act: async (arena, { token }) => {
        const script = [
          `set -e; cd ${repository}; start=$(git rev-parse --abbrev-ref HEAD); git status --short; echo two >> file.txt`,
          `git diff --stat; git add file.txt; git commit -q -m work; git branch b-${token}; git checkout -q b-${token}`,
          'git checkout -q "$start"; git log --oneline -1; git stash list; echo all of it works',
        ]
        const { results } = await arena.attack([[command(script.join('\n'))]])
        return results[0]?.text.includes('all of it works') ? undefined : String(results[0]?.text.slice(0, 400))
      },
    }),
  ),
}
