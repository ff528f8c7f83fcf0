import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/*
 * Generates src/otlp/proto/messages.js and messages.d.ts from the .proto files in the same folder. The .proto files
 * come from github.com/open-telemetry/opentelemetry-proto at commit ac2c4b5, which is newer than 1.11.0. Run
 * `npm run generate:otlp` after you change them.
 */

const FOLDER = 'src/otlp/proto'
const FILES = ['trace/v1/trace.proto', 'logs/v1/logs.proto'].map(file => `opentelemetry/proto/${file}`)
const OPTIONS = [
  ...['--target', 'static-module', '--wrap', 'esm', '--root', 'otlp', '--path', FOLDER],
  ...['--dependency', 'protobufjs/minimal.js'],
  ...['encode', 'create', 'verify', 'convert', 'delimited', 'service', 'typeurl'].map(part => `--no-${part}`),
]

/**
 * Runs a program from protobufjs-cli. The package isn't a dependency, because only this script needs it, and because
 * it's larger than all of the service's dependencies together.
 */
const run = (program: 'pbjs' | 'pbts', options: readonly string[], input?: string): string =>
  execFileSync('npx', ['--yes', '--package', 'protobufjs-cli@2.7.1', program, ...options], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
  })

/**
 * Makes an AnyValue's `value` a plain property, which contains the name of the field that was decoded last. Only that
 * field applies. The accessor that protobufjs generates deletes the seven other fields of each value, which takes a
 * quarter of the decoding time.
 */
function withoutAccessor(module: string): string {
  const accessor = /\n *let \$oneOfFields;\n\n *\$Object\.defineProperty\(AnyValue\.prototype, "value", \{[^}]*\}\);\n/
  if (!accessor.test(module)) throw new Error('the accessor of AnyValue.value was not found')
  return module.replace(accessor, '')
}

// The types are generated from the module's comments, so the comments are left out only when the module is written.
const types = run('pbts', ['--no-comments', '-'], run('pbjs', [...OPTIONS, ...FILES]))
writeFileSync(`${FOLDER}/messages.d.ts`, types)
writeFileSync(`${FOLDER}/messages.js`, withoutAccessor(run('pbjs', [...OPTIONS, '--no-comments', ...FILES])))
