# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Keys, certificates and kubeconfigs, made anew by every `up`.

new_key() {
	(umask 077 && openssl ecparam -name prime256v1 -genkey -noout -out "$1")
}

new_ca() {
	new_key "$PKI/$1.key"
	openssl req -x509 -new -key "$PKI/$1.key" -days 365 -subj "/CN=$2" -out "$PKI/$1.crt"
}

# new_cert CA NAME SUBJECT [SUBJECTALTNAMES]
new_cert() {
	local ca=$1 name=$2 subject=$3 san=${4:-}
	new_key "$PKI/$name.key"
	{
		echo basicConstraints=CA:FALSE
		echo extendedKeyUsage=serverAuth,clientAuth
		[ -z "$san" ] || echo "subjectAltName=$san"
	} >"$PKI/$name.ext"
	openssl req -new -key "$PKI/$name.key" -subj "$subject" -out "$PKI/$name.csr"
	openssl x509 -req -in "$PKI/$name.csr" -CA "$PKI/$ca.crt" -CAkey "$PKI/$ca.key" \
		-CAcreateserial -days 365 -extfile "$PKI/$name.ext" -out "$PKI/$name.crt" 2>/dev/null
	rm -f "$PKI/$name.ext" "$PKI/$name.csr"
}

# kubeconfig NAME FILE: for the client certificate NAME, with everything inside the file.
kubeconfig() {
	(umask 077 && cat >"$2" <<K
apiVersion: v1
kind: Config
clusters:
- name: etjob
  cluster:
    server: https://$(api_address):$API_PORT
    certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$PKI/$1.crt")
    client-key-data: $(base64 -w0 "$PKI/$1.key")
contexts:
- name: etjob
  context:
    cluster: etjob
    user: $1
current-context: etjob
K
	)
}

make_pki() {
	local name
	mkdir -p "$PKI"
	new_ca ca kube-ca
	new_ca front-proxy-ca front-proxy-ca
	new_key "$PKI/sa.key"
	openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
	new_cert ca apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$NODE_IP,IP:$SERVICE_IP,DNS:\
localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:\
kubernetes.default.svc.cluster.local"
	new_cert ca admin /O=system:masters/CN=admin
	new_cert ca controller-manager /CN=system:kube-controller-manager
	new_cert ca scheduler /CN=system:kube-scheduler
	new_cert ca kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
	new_cert ca "$NODE_NAME" "/O=system:nodes/CN=system:node:$NODE_NAME" \
		"IP:$NODE_IP,DNS:$NODE_NAME"
	new_cert front-proxy-ca front-proxy-client /CN=front-proxy-client
	for name in controller-manager scheduler "$NODE_NAME"; do
		kubeconfig "$name" "$STATE_DIR/$name.kubeconfig"
	done
	kubeconfig admin "$ADMIN_KUBECONFIG"
}
