import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** What a file may take; one that takes more is a long proof, of which `npm test` plays a part a day. */
const maxSeconds = 6

/** Counts a run's tests, and fails the run when one was left out: a skipped test reads as green and proves nothing. */
export class Tally implements Reporter {
  passed = 0
  failed = 0
  /** Tests that ran and failed. Other failures (a skipped test, a file that does not load) are only in `failed`. */
  failedTests: { file: string; name: string }[] = []
  /** Files that took longer than a file should, the slowest first. */
  slowFiles: { file: string; seconds: number }[] = []
  #isPartByChoice = false

  onInit(vitest: Vitest): void {
    // With `-t pattern` all other tests count as skipped, and that is what was asked for.
    this.#isPartByChoice = vitest.config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[], reason: string): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const leftOut = this.#isPartByChoice
      ? []
      : tests.filter((test) => !['passed', 'failed'].includes(test.result().state))
    const broken = modules
      .flatMap((module) => [module, ...module.children.allSuites()])
      .flatMap((part) => part.errors())
    this.passed = tests.filter((test) => test.result().state === 'passed').length
    this.failedTests = tests
      .filter((test) => test.result().state === 'failed')
      .map((test) => ({ file: test.module.moduleId, name: `${test.module.relativeModuleId} > ${test.fullName}` }))
    this.slowFiles = modules
      .map((module) => ({ file: module.relativeModuleId, seconds: module.diagnostic().duration / 1000 }))
      .filter(({ seconds }) => seconds > maxSeconds)
      .sort((a, b) => b.seconds - a.seconds)
    this.failed = this.failedTests.length + leftOut.length + broken.length + unhandledErrors.length
    // A run can fail without a failed test, for instance when it finds no test at all.
    if (this.failed === 0 && reason !== 'passed') this.failed = 1
    for (const test of leftOut) console.error(`not run: ${test.module.relativeModuleId} > ${test.fullName}`)
    if (this.failed > 0) process.exitCode = 1
  }
}
