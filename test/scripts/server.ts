import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { directoryForData } from './in-memory.ts'

export const PROJECT = resolve(import.meta.dirname, '../..')

export const ADMIN_TOKEN = 'token'

/** The last line that a successful start prints. */
const SERVES = 'Press Ctrl-C to stop it.'

const CRON_SECRET = 'secret of the tests'

/** A server as `npm start` runs it, with its own port and state directory. It can be restarted. */
export class Server {
  readonly port: number
  readonly url: string
  readonly stateDirectory: string
  #script: ChildProcess | undefined

  constructor(port: number, stateDirectory: string) {
    this.port = port
    this.url = `http://localhost:${port}`
    this.stateDirectory = stateDirectory
  }

  /** The file with the demo's keys. */
  get keysFile(): string {
    return join(this.stateDirectory, 'demo-keys.json')
  }

  /** A second server, on its own port, that shares the state directory. */
  async another(): Promise<Server> {
    return new Server(await freePort(), this.stateDirectory)
  }

  /** The ports on 127.0.0.1 that the server's processes listen on, except for its own port. Works only on Linux. */
  async otherPorts(): Promise<number[]> {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pgid=', '-o', 'pid='])
    const processes = stdout.split('\n').map(line => line.trim().split(/\s+/))
    const open = new Set<string>()
    for (const [group, id] of processes) {
      if (group !== String(this.#script?.pid)) continue
      for (const descriptor of await readdir(`/proc/${id}/fd`)) {
        open.add(await readlink(`/proc/${id}/fd/${descriptor}`).catch(() => ''))
      }
    }
    const sockets = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map(line => line.trim().split(/\s+/))
    return sockets.flatMap(([, address = '', , state, , , , , , inode]) => {
      const port = Number.parseInt(address.split(':')[1] ?? '', 16)
      const isListening = state === '0A' && open.has(`socket:[${inode}]`)
      return isListening && port !== this.port ? [port] : []
    })
  }

  /**
   * Runs the script and returns everything that it printed until it was serving or failed. By default, it reuses the
   * last build, because building takes longer than the rest of a start. With `project`, it builds and starts that
   * project.
   */
  async start(environment: Record<string, string> = {}, project?: string): Promise<string> {
    project ??= await this.#builtProject()
    const script = spawn(process.execPath, [join(project, 'scripts/start.ts')], {
      env: {
        ...process.env,
        CI: 'true',
        PORT: String(this.port),
        STATE_DIR: this.stateDirectory,
        ADMIN_TOKEN,
        // Without this variable, `npm start` would write a key to `.dev.vars`.
        WEBHOOK_KEY: 'webhook-key-of-the-tests',
        CRON_SECRET,
        ...environment,
      },
      // Makes the script lead a process group that includes all its child processes.
      detached: true,
    })
    this.#script = script
    let printed = ''
    for (const stream of [script.stdout, script.stderr]) stream.on('data', data => (printed += data))
    const ended = once(script, 'close')
    while (!printed.includes(SERVES)) {
      if (await Promise.race([ended, setTimeout(50)])) break
    }
    return printed
  }

  /**
   * A copy of the project that is already built, and has a build script that does nothing. `remove` deletes it along
   * with the state.
   */
  async #builtProject(): Promise<string> {
    const copy = `${this.stateDirectory}-project`
    await mkdir(join(copy, 'dist'), { recursive: true })
    await writeFile(join(copy, 'package.json'), JSON.stringify({ type: 'module', scripts: { build: ':' } }))
    // Scripts locate the project by their own real path, so symbolic links would lead back to the original.
    await cp(join(PROJECT, 'scripts'), join(copy, 'scripts'), { recursive: true })
    for (const part of [
      'src',
      'migrations',
      'node_modules',
      'tsconfig.json',
      'wrangler.toml',
      'dist/ui',
      'dist/worker',
    ]) {
      await symlink(join(PROJECT, part), join(copy, part)).catch(error => {
        if (error.code !== 'EEXIST') throw error
      })
    }
    return copy
  }

  /** Sends a signal only to the script, and waits until the script and all its child processes have exited. */
  stop(signal: NodeJS.Signals): Promise<void> {
    return this.#end(script => script.kill(signal))
  }

  /** Kills the script and all its child processes at the same time, and waits until they have exited. */
  kill(): Promise<void> {
    return this.#end(({ pid = 0 }) => process.kill(-pid, 'SIGKILL'))
  }

  async #end(send: (script: ChildProcess) => void): Promise<void> {
    const script = this.#script
    if (!script?.pid) return
    send(script)
    while (await isAlive(script.pid)) await setTimeout(50)
    this.#script = undefined
  }

  isServing(): Promise<boolean> {
    return fetch(`${this.url}/openapi.json`).then(
      response => response.ok,
      () => false,
    )
  }

  /** Kills the server and removes its state. */
  async remove(): Promise<void> {
    if (this.#script?.pid && (await isAlive(this.#script.pid))) await this.kill()
    for (const directory of [this.stateDirectory, `${this.stateDirectory}-project`]) {
      await rm(directory, { recursive: true, force: true })
    }
  }
}

/** Runs the every-minute cron job now, on a server that was started here. */
export async function runCron(url: string): Promise<void> {
  const response = await fetch(`${url}/cdn-cgi/handler/scheduled`, { headers: { 'x-cron-secret': CRON_SECRET } })
  if (!response.ok) throw new Error(`cron returned ${response.status}`)
}

/** Creates a server that has no state and isn't started yet. */
export async function newServer(): Promise<Server> {
  return new Server(await freePort(), await mkdtemp(join(directoryForData(), 'countersign-')))
}

/** Returns a port on this machine that no process listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, 'localhost')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await promisify(probe.close.bind(probe))()
  return port
}

/** Whether any process in a group is alive. Zombie processes don't count. */
async function isAlive(group: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pgid=', '-o', 'stat='])
  const processes = stdout.split('\n').map(line => line.trim().split(/\s+/))
  return processes.some(([pgid, state]) => pgid === String(group) && !state?.startsWith('Z'))
}
