import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that no worker is left with it at the end; Vitest itself knows only after a run. */
const slow = [
  'test/crash/',
  'test/attack/',
  'test/soak/',
  'test/engine/memory-crash',
  'test/engine/faults-',
  'test/store/migrate-interrupted',
  'test/store/restore-interrupted',
  'test/store/disk-fails',
  'test/contract/processes',
  'test/tools/exec-',
  'test/tools/guard',
  'test/tools/race',
  'test/tools/write-kill',
  'test/launcher-signals',
  'test/package',
  'test/cli/report',
  'test/cli/chat.test',
  'test/cli/daemon.test',
  'test/cli/approvals.test',
  'test/cli/fuzz',
  'test/cli/every-command',
  'test/cli/agents-test',
  'test/gateway/hostile-fields',
  'test/models/rehearsal.test',
  'test/memory/background',
  'test/engine/simulator',
  'test/engine/write.test',
]

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slow.some((path) => moduleId.includes(`/${path}`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}
