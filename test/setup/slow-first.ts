import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that no worker is left with it at the end; Vitest itself knows only after a run. */
const slow = [
  'test/package',
  'test/web/',
  'test/crash/',
  'test/attack/',
  'test/soak/',
  'test/budgets/',
  'test/cli/chat.test',
  'test/cli/report',
  'test/cli/money',
  'test/cli/daemon.test',
  'test/cli/approvals.test',
  'test/cli/ask.test',
  'test/cli/attachments',
  'test/cli/fuzz',
  'test/cli/agents-test',
  'test/launcher-signals',
  'test/gateway/',
  'test/engine/non-interference',
  'test/engine/faults-',
  'test/engine/spent-budget',
  'test/engine/subagents-tool',
  'test/engine/plan',
  'test/engine/approved-files',
  'test/engine/simulator',
  'test/engine/write.test',
  'test/store/',
  'test/app/compatibility-views',
  'test/contract/',
  'test/tools/exec-',
  'test/tools/guard',
  'test/tools/protected',
  'test/tools/git-trust',
  'test/models/rehearsal.test',
  'test/models/broken-streams',
]

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slow.some((path) => moduleId.includes(`/${path}`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}
