#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The plugin's client answers as kubectl's does: see tests/golden/kubectl-client.

@test "every recorded case of kubectl's client has the same request and the same error" {
    if (exec 3<>/dev/tcp/localhost/8080) 2>/dev/null; then
        skip "something listens on localhost:8080, which the cases need refused"
    fi
    golden=$BATS_TEST_DIRNAME/../golden/kubectl-client
    plugin=$BATS_TEST_DIRNAME/../../${BUILD:-build}/kubectl-etjob
    run python3 "$golden/check.py" --plugin "$plugin" --golden "$golden"
    printf '%s\n' "$output" | grep -v '^same' >&2
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "77 passed, 0 failed" ]
}
